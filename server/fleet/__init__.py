"""Many machines: one set of claims and one board for a team, on NATS JetStream; the files stay the truth."""
