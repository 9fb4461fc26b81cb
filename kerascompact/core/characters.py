"""Numbers of the map of characters and of the hash of pieces, which NumPy and graphs share."""

from kerascompact.core.hash32 import int32

POINTS = 0x110000
ALONE, SPACE = 1 << 21, 1 << 22  # bit of characters that are words of their own; between words
HANGUL, SYLLABLES = 0xAC00, 11172  # precomposed syllables, which NFD writes as two or three letters
LEADING, VOWELS, TRAILING = 0x1100, 0x1161, 0x11A7
PAGE, ROW = 8, 64  # code points in a page, and pages in a row
SECOND = 24  # bits of an entry below the number of its second character
MANY = 2**15  # pieces: of more, hashes of 32 bits meet, and 65,536 displacements are few
MIX = int32(0x85EBCA6B)  # one of the constants of fmix32
