"""Static checks of a compiled definition; strict loading."""
