package io.rdmaraw.tools.frame;

import io.netty.buffer.ByteBuf;

/** Reads and writes the MAC addresses in the first twelve bytes of a frame. */
public final class EthernetAddresses {
    private EthernetAddresses() {
    }

    /** Writes destination and source, given as numbers of 48 bits. */
    public static void write(ByteBuf frame, long destination, long source) {
        frame.setLong(0, destination << 16 | source >>> 32);
        frame.setInt(8, (int) source);
    }

    /** Swaps destination and source. */
    public static void swap(ByteBuf frame) {
        long destinationAndSource = frame.getLong(0);
        long source = (destinationAndSource & 0xffff) << 32 | frame.getUnsignedInt(8);
        write(frame, source, destinationAndSource >>> 16);
    }
}
