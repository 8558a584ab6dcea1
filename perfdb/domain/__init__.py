"""The words of the glossary as frozen values; standard library only."""
