"""What `say` is answered with, in the pieces that a stream hands out."""


def words(count: int) -> list[str]:
    """That many pieces."""
    return [f"word{number} " for number in range(count)]
