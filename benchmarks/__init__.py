"""Scripts behind every figure that this project claims."""
