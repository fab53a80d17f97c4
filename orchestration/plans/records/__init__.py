"""Plans that are records: objects of JSON with an id, a status and what they wait for."""
