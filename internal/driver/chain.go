package driver

type Chain struct{}

func (c *Chain) stop() {}
