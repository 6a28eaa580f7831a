//go:build !amd64

package main

func peakKernel() *peak { return nil }
