package io.rdmaraw.tcp;

/**
 * Limits for the resources that peers can make an engine use. Instances are immutable; use {@link #builder()} to
 * create one. The limits apply per engine, that is, per loop and device.
 */
public final class TcpLimits implements Cloneable {
    /** The default limits. */
    public static final TcpLimits DEFAULT = builder().build();

    int maxOrphans = 16_384;
    long maxOrphanBytes = 256L << 20;
    int minSendMss = 216;
    int maxSegmentsInFlight = 32_768;
    long maxReceiveBytes = 256L << 20;
    int maxOutOfOrderRanges = 512;

    private TcpLimits() {
        // Created only by the builder.
    }

    /** Returns a copy that later changes of the builder do not affect. */
    private TcpLimits copy() {
        try {
            return (TcpLimits) clone();
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    public static Builder builder() {
        return new Builder();
    }

    /**
     * Builds limits. Every limit has a default. Setters throw {@link IllegalArgumentException} if a number is out
     * of range.
     */
    public static final class Builder {
        private TcpLimits limits = new TcpLimits();

        private Builder() {
        }

        /** Copies all limits of another instance. */
        public Builder setAll(TcpLimits other) {
            limits = other.copy();
            return this;
        }

        /**
         * Sets the maximum number of connections that their users have closed and that still wait for the peer
         * (as Linux's tcp_max_orphans), 1 to 2^26. Default 16,384. Beyond it, the connection without progress for
         * the longest time is reset and counted.
         */
        public Builder maxOrphans(int value) {
            limits.maxOrphans = (int) TcpConfig.inRange("maxOrphans", value, 1, 1 << 26);
            return this;
        }

        /**
         * Sets the maximum number of bytes that closed connections may have queued, 0 to 2^60. Default 256 MiB.
         * Beyond it, the connection with data that has made no progress for the longest time is reset and
         * counted.
         */
        public Builder maxOrphanBytes(long value) {
            limits.maxOrphanBytes = TcpConfig.inRange("maxOrphanBytes", value, 0, 1L << 60);
            return this;
        }

        /**
         * Sets the minimum MSS for segments to a peer (Linux's tcp_min_snd_mss, FreeBSD's net.inet.tcp.minmss), 48 to
         * 1220 bytes. If a peer announces a smaller MSS, this minimum is used instead. Otherwise a peer could make the
         * engine send mostly headers. Default 216, as on FreeBSD: this is the MSS of packet radio with an MTU of 256,
         * the smallest of all links in use.
         */
        public Builder minSendMss(int value) {
            limits.minSendMss = (int) TcpConfig.inRange("minSendMss", value, 48, 1220);
            return this;
        }

        /**
         * Sets the maximum number of segments in flight per connection, 64 to 2^24. Default 32,768, or 47 MB in
         * full Ethernet frames. Each segment takes 21 bytes of memory. Rare events such as a timeout visit all of
         * them.
         */
        public Builder maxSegmentsInFlight(int value) {
            limits.maxSegmentsInFlight = (int) TcpConfig.inRange("maxSegmentsInFlight", value, 64, 1 << 24);
            return this;
        }

        /**
         * Sets the maximum number of bytes of received data, unread or out of order, that all connections hold (as
         * Linux's tcp_mem), 64 KiB to 2^60. Default 256 MiB. From three quarters of the limit, windows stop growing and
         * shrink to an equal share. From seven eighths, the connections with the most out-of-order data lose it, and
         * connections with more than an equal share unread receive nothing more. Both cases are counted. From fifteen
         * sixteenths, only connections without unread data receive more. At the limit, none does.
         */
        public Builder maxReceiveBytes(long value) {
            limits.maxReceiveBytes = TcpConfig.inRange("maxReceiveBytes", value, 64 << 10, 1L << 60);
            return this;
        }

        /**
         * Sets the maximum number of separate ranges of out-of-order data per connection, 4 to 65,536. Data that
         * would start another range is dropped and counted. The cost of each out-of-order segment grows with the
         * number of ranges. Default 512, enough if a tenth of a window of 7 MiB is lost.
         */
        public Builder maxOutOfOrderRanges(int value) {
            limits.maxOutOfOrderRanges = (int) TcpConfig.inRange("maxOutOfOrderRanges", value, 4, 65_536);
            return this;
        }

        /** Builds the limits. */
        public TcpLimits build() {
            return limits.copy();
        }
    }
}
