"""Long tests of sturdiness, outside CI: `make soak`. The suite runs a short, fixed part of each."""
