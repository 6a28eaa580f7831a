package segment

type Piece struct {
	Offset int64
	Bytes  []byte
}
