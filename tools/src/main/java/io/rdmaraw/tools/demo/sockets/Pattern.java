package io.rdmaraw.tools.demo.sockets;

import io.netty.buffer.ByteBuf;

/** The content of one connection or datagram: each byte follows from the number of the sender and its position. */
record Pattern(int sender) {
    private static final int SENDER_FACTOR = 0x9e3779b1;
    private static final int POSITION_FACTOR = 0x85ebca6b;

    private byte at(int position) {
        int mixed = (position + 1) * POSITION_FACTOR ^ (sender + 1) * SENDER_FACTOR;
        return (byte) (mixed ^ mixed >>> 15 ^ mixed >>> 24);
    }

    /** Writes the bytes from a position on. */
    void write(ByteBuf target, int position, int lengthBytes) {
        for (int i = 0; i < lengthBytes; i++) {
            target.writeByte(at(position + i));
        }
    }

    /** Reads all bytes. Returns the position of the first wrong one, or -1. */
    int firstDifference(ByteBuf content, int position) {
        for (int at = position; content.isReadable(); at++) {
            if (content.readByte() != at(at)) {
                return at;
            }
        }
        return -1;
    }
}
