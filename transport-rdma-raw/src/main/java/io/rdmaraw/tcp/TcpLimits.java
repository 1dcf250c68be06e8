package io.rdmaraw.tcp;

/**
 * The settings of an engine that bound what its peers can make it hold and do; immutable, made by {@link #builder()}.
 * They are for one engine, which is one loop on one device.
 */
public final class TcpLimits implements Cloneable {
    /** The defaults. */
    public static final TcpLimits DEFAULT = builder().build();

    int maxOrphans = 16_384;
    long maxOrphanBytes = 256L << 20;
    int minSendMss = 216;
    int maxSegmentsInFlight = 32_768;
    long maxReceiveBytes = 256L << 20;
    int maxOutOfOrderRanges = 512;

    private TcpLimits() {
        // Made by the builder alone.
    }

    /** What a builder has made does not change when the builder goes on: only the builder writes fields. */
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

    /** Collects limits; every one has a default. Numbers out of range are refused at once. */
    public static final class Builder {
        private TcpLimits made = new TcpLimits();

        private Builder() {
        }

        /** Sets all of them as they are elsewhere. */
        public Builder setAll(TcpLimits other) {
            made = other.copy();
            return this;
        }

        /**
         * Connections that their users have closed and that still wait for their peers, at most (tcp_max_orphans of
         * Linux): 1 to 2^26, by default 16,384. Beyond it the one whose peer has acknowledged nothing for the longest
         * time is reset and counted.
         */
        public Builder maxOrphans(int value) {
            made.maxOrphans = (int) TcpConfig.inRange("maxOrphans", value, 1, 1 << 26);
            return this;
        }

        /**
         * What such connections may have queued, in bytes: 0 to 2^60, by default 256 MiB. Beyond it the one with data
         * whose peer has acknowledged nothing for the longest time is reset and counted.
         */
        public Builder maxOrphanBytes(long value) {
            made.maxOrphanBytes = TcpConfig.inRange("maxOrphanBytes", value, 0, 1L << 60);
            return this;
        }

        /**
         * The least maximum segment size that a peer's SYN is believed (tcp_min_snd_mss of Linux, net.inet.tcp.minmss
         * of FreeBSD): 48 to 1220 bytes, by default 216, as on FreeBSD: packet radio with an MTU of 256 has it, and no
         * link in use has less. A peer that says less makes us send mostly headers, with work for each.
         */
        public Builder minSendMss(int value) {
            made.minSendMss = (int) TcpConfig.inRange("minSendMss", value, 48, 1220);
            return this;
        }

        /**
         * Segments that a connection has in flight at most: 64 to 2^24, by default 32,768, which is 47 MB of full
         * Ethernet frames. Each takes 21 bytes of memory, and what happens seldom, such as a timeout, looks at all.
         */
        public Builder maxSegmentsInFlight(int value) {
            made.maxSegmentsInFlight = (int) TcpConfig.inRange("maxSegmentsInFlight", value, 64, 1 << 24);
            return this;
        }

        /**
         * What all connections hold of received data together, not read or out of order, in bytes (tcp_mem of Linux):
         * 64 KiB to 2^60, by default 256 MiB. From three quarters of it on windows do not grow and fall to an equal
         * share. At the bound the connections with the most out of order lose that, and who has more than an equal
         * share unread gets no more; both are counted.
         */
        public Builder maxReceiveBytes(long value) {
            made.maxReceiveBytes = TcpConfig.inRange("maxReceiveBytes", value, 64 << 10, 1L << 60);
            return this;
        }

        /**
         * Ranges, with gaps between them, in which a connection holds data out of order, at most: 4 to 65,536, by
         * default 512, as many as there are when a tenth of a window of 7 MiB is lost. What would begin another is
         * dropped and counted. Work for each segment out of order grows with them.
         */
        public Builder maxOutOfOrderRanges(int value) {
            made.maxOutOfOrderRanges = (int) TcpConfig.inRange("maxOutOfOrderRanges", value, 4, 65_536);
            return this;
        }

        /** Builds the limits. */
        public TcpLimits build() {
            return made.copy();
        }
    }
}
