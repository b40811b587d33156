"""Find the samples whose labels are probably wrong, and look at them: tables, pictures, a page to correct them on."""

__all__ = []
