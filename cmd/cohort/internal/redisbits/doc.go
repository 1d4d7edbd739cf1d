// Package redisbits reads flat bitmaps out of a running Redis: strings written
// with SETBIT, one per event and day (or hour), whose bit N is the id N.
//
// A [Layout] says which keys are such bitmaps, and which event and day a key is
// of. [Server.List] finds the keys; [Server.Pieces] streams the value of one;
// [Piece.Bits] yields the positions of its set bits.
//
// Only reading commands are sent: SCAN, STRLEN, GETRANGE, BITPOS and OBJECT
// ENCODING, and what opens a connection. None keeps the server busy for longer
// than a few milliseconds, and no more than one piece of one value is held at a
// time.
package redisbits
