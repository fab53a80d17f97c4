"""All that reaches out of the process: the disk, the store, live roots, and the front ends over them."""
