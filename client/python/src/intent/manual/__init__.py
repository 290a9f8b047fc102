"""The manual: what the language, its names and its errors are, for programs that ask."""
