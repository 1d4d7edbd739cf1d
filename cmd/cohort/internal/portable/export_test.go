package portable

// ReadAtMost is Read with another bound than MaxBytes.
var ReadAtMost = readAtMost
