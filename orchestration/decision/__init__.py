"""Facts → phase → gates → first rule that holds; pending reports judged in turn."""
