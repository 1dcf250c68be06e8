package io.rdmaraw.tcp;

/**
 * The settings of an engine that bound what its peers can make it hold and do; immutable, made by {@link #builder()}.
 * They are for one engine, which is one loop on one device.
 */
public final class TcpLimits {
    /** The defaults. */
    public static final TcpLimits DEFAULT = builder().build();

    final int maxOrphans;
    final long maxOrphanBytes;

    private TcpLimits(Builder builder) {
        maxOrphans = builder.maxOrphans;
        maxOrphanBytes = builder.maxOrphanBytes;
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Collects limits; every one has a default. Numbers out of range are refused at once. */
    public static final class Builder {
        private int maxOrphans = 16_384;
        private long maxOrphanBytes = 256L << 20;

        private Builder() {
        }

        /**
         * Connections that their users have closed and that still wait for their peers, at most (tcp_max_orphans of
         * Linux): 1 to 2^26, by default 16,384. Beyond it the one whose peer has acknowledged nothing for the longest
         * time is reset and counted.
         */
        public Builder maxOrphans(int value) {
            maxOrphans = (int) TcpConfig.inRange("maxOrphans", value, 1, 1 << 26);
            return this;
        }

        /**
         * What such connections may have queued, in bytes: 0 to 2^60, by default 256 MiB. Beyond it the one with data
         * whose peer has acknowledged nothing for the longest time is reset and counted.
         */
        public Builder maxOrphanBytes(long value) {
            maxOrphanBytes = TcpConfig.inRange("maxOrphanBytes", value, 0, 1L << 60);
            return this;
        }

        /** Builds the limits. */
        public TcpLimits build() {
            return new TcpLimits(this);
        }
    }
}
