package io.rdmaraw.testsuite.sim;

/** The behaviour of the application at one end of a connection, drawn from the seed. */
final class AppPlan {
    /** How the application ends the connection. */
    enum End {
        /** Sends a FIN after its last byte, and closes the connection when the peer's FIN has arrived. */
        HALF_CLOSE,
        /**
         * Sends all its data, waits for the peer's FIN, then closes the connection. At most one of the two ends
         * does this.
         */
        CLOSE_LAST,
        /** Resets the connection after {@link #abortNanos}. */
        ABORT
    }

    /** Each chunk may become a packet, so this limits the number of packets of a run. */
    private static final long MAX_CHUNKS = 5_000;

    final long totalBytes;
    final int chunkLow;
    final int chunkHigh;
    /** Pause between two chunks. */
    final long thinkNanos;
    /** Maximum number of bytes that are queued or unacknowledged. */
    final int sendBufferBytes;
    /** Number of bytes per read; 0: all available bytes. */
    final int readBytes;
    /** Pause between two reads. */
    final long readPauseNanos;
    /**
     * Stream offset at which the application stops reading once, for {@link #stallNanos}, so that the window
     * closes.
     */
    final long stallFromByte;
    final long stallNanos;
    final End end;
    final long abortNanos;

    /** @param maxBytes upper limit of the transfer size, chosen so that a run ends in reasonable time */
    AppPlan(SplitMix draw, long maxBytes, boolean mayCloseLast, long off) {
        long largest = (off & Fault.LONG_TRANSFERS.bit(0)) != 0 ? Math.min(5_000, maxBytes) : maxBytes;
        long bytes = draw.magnitude(1, largest);
        boolean nothing = draw.chance(0.1);
        chunkLow = (int) draw.magnitude(1, 20_000);
        totalBytes = nothing ? 0 : Math.min(bytes, MAX_CHUNKS * chunkLow);
        chunkHigh = (int) (chunkLow + draw.magnitude(1, 20_000));
        long think = draw.magnitude(1_000, 300 * LinkPlan.MILLI);
        boolean pauses = draw.chance(0.3) && (off & Fault.PAUSES.bit(0)) == 0;
        long chunks = totalBytes / chunkLow + 1;
        thinkNanos = pauses ? Math.min(think, 20_000 * LinkPlan.MILLI / chunks) : 0;
        sendBufferBytes = (int) draw.magnitude(2_000, 1_000_000);
        boolean slow = draw.chance(0.3) && (off & Fault.SLOW_READERS.bit(0)) == 0;
        int read = (int) draw.magnitude(100, 50_000);
        long pause = draw.magnitude(10_000, 50 * LinkPlan.MILLI);
        readBytes = slow ? read : 0;
        readPauseNanos = slow ? pause : 0;
        boolean stalls = draw.chance(0.15) && (off & Fault.SLOW_READERS.bit(0)) == 0;
        long from = (long) (draw.unit() * 20_000);
        long stall = draw.magnitude(10 * LinkPlan.MILLI, 20_000 * LinkPlan.MILLI);
        stallFromByte = stalls ? from : Long.MAX_VALUE;
        stallNanos = stall;
        boolean aborts = draw.chance(0.05) && (off & Fault.ABORTS.bit(0)) == 0;
        boolean last = draw.chance(0.4) && mayCloseLast;
        end = aborts ? End.ABORT : last ? End.CLOSE_LAST : End.HALF_CLOSE;
        abortNanos = draw.magnitude(LinkPlan.MILLI, 2_000 * LinkPlan.MILLI);
    }

    @Override
    public String toString() {
        return totalBytes + " B in chunks of " + chunkLow + ".." + chunkHigh
                + (thinkNanos > 0 ? " every " + thinkNanos / 1000 + " us" : "") + ", buffer " + sendBufferBytes
                + (readBytes > 0 ? ", reads " + readBytes + " every " + readPauseNanos / 1000 + " us" : "")
                + (stallFromByte < Long.MAX_VALUE ? ", stalls at " + stallFromByte
                + " for " + stallNanos / LinkPlan.MILLI + " ms" : "") + ", " + end;
    }
}
