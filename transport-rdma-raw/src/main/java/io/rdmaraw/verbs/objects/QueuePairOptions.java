package io.rdmaraw.verbs.objects;

import java.util.Objects;

/**
 * The options of a raw-packet queue pair. Immutable; see {@link #builder()}.
 *
 * @param sendCompletionQueue    the completion queue of sends
 * @param receiveCompletionQueue the completion queue of receives
 * @param maxSendWr              maximum number of outstanding send requests
 * @param maxReceiveWr           maximum number of outstanding receive requests
 * @param maxSendSge             maximum number of SGEs of a send
 * @param maxReceiveSge          maximum number of SGEs of a receive
 * @param maxInlineDataBytes     maximum number of bytes of an inline send
 * @param maxTsoHeaderBytes      maximum length of the headers of a TSO send; 0 disables TSO
 * @param signalAll              whether every send generates a completion, regardless of its flags
 * @param createFlags            an OR of {@link #BLOCK_SELF_MULTICAST_LOOPBACK} and so on, or 0
 * @param selfLoopback           whether the queue pair receives matching frames sent by its own port. soft:loop
 *                               always does; a ConnectX does so only with this option
 * @param rssOrNull              RSS options, or null. An RSS queue pair receives through work queues: its
 *                               completion queues are null and all its sizes are 0
 */
public record QueuePairOptions(CompletionQueue sendCompletionQueue, CompletionQueue receiveCompletionQueue,
        int maxSendWr, int maxReceiveWr, int maxSendSge, int maxReceiveSge, int maxInlineDataBytes,
        int maxTsoHeaderBytes, boolean signalAll, int createFlags, boolean selfLoopback,
        RssOptions rssOrNull) {
    /** The system property that sets the default of {@link Builder#selfLoopback}. */
    public static final String SELF_LOOPBACK_PROPERTY = "io.rdmaraw.selfLoopback";
    /**
     * {@code IBV_QP_CREATE_BLOCK_SELF_MCAST_LB}: the queue pair does not receive multicast and broadcast frames
     * that it sent.
     */
    public static final int BLOCK_SELF_MULTICAST_LOOPBACK = 1 << 1;
    /** {@code IBV_QP_CREATE_SCATTER_FCS}: received frames include their frame check sequence. */
    public static final int SCATTER_FCS = 1 << 8;
    /** {@code IBV_QP_CREATE_CVLAN_STRIPPING}: the device removes the VLAN tag of received frames. */
    public static final int CVLAN_STRIPPING = 1 << 9;

    /**
     * Checks that the options are consistent. The device checks its own limits when the queue pair is created.
     *
     * @throws IllegalArgumentException if a size is out of range, or contradicts RSS
     */
    public QueuePairOptions {
        notNegative(maxSendWr, "maxSendWr");
        notNegative(maxReceiveWr, "maxReceiveWr");
        notNegative(maxSendSge, "maxSendSge");
        notNegative(maxReceiveSge, "maxReceiveSge");
        notNegative(maxInlineDataBytes, "maxInlineDataBytes");
        notNegative(maxTsoHeaderBytes, "maxTsoHeaderBytes");
        if (maxTsoHeaderBytes > 0xffff) {
            throw new IllegalArgumentException("maxTsoHeaderBytes is at most 65535, not " + maxTsoHeaderBytes);
        }
        if (rssOrNull == null) {
            Objects.requireNonNull(sendCompletionQueue, "a queue pair needs a send completion queue");
            Objects.requireNonNull(receiveCompletionQueue, "a queue pair needs a receive completion queue");
        } else if (sendCompletionQueue != null || receiveCompletionQueue != null) {
            throw new IllegalArgumentException("an RSS queue pair completes through its work queues: do not set a"
                    + " completion queue");
        } else if ((maxSendWr | maxReceiveWr | maxSendSge | maxReceiveSge | maxInlineDataBytes) != 0) {
            throw new IllegalArgumentException("an RSS queue pair only distributes to work queues and has no rings:"
                    + " all sizes must be 0");
        }
    }

    /**
     * Returns a builder. Defaults: 256 send and 256 receive requests with one SGE each, no inline data,
     * completions only for sends with {@link SendWr#FLAG_SIGNALED}.
     */
    public static Builder builder() {
        return new Builder();
    }

    private static void notNegative(int value, String name) {
        if (value < 0) {
            throw new IllegalArgumentException(name + " must not be negative, and is " + value);
        }
    }

    /** Builds {@link QueuePairOptions}. */
    public static final class Builder {
        private CompletionQueue sendCompletionQueue;
        private CompletionQueue receiveCompletionQueue;
        private int maxSendWr = 256;
        private int maxReceiveWr = 256;
        private int maxSendSge = 1;
        private int maxReceiveSge = 1;
        private int maxInlineDataBytes;
        private int maxTsoHeaderBytes;
        private boolean signalAll;
        private int createFlags;
        private boolean selfLoopback = Boolean.getBoolean(SELF_LOOPBACK_PROPERTY);
        private RssOptions rss;

        private Builder() {
        }

        /** Sets one completion queue for sends and receives. */
        public Builder completionQueue(CompletionQueue queue) {
            return sendCompletionQueue(queue).receiveCompletionQueue(queue);
        }

        /** Sets the completion queue of sends. */
        public Builder sendCompletionQueue(CompletionQueue queue) {
            sendCompletionQueue = queue;
            return this;
        }

        /** Sets the completion queue of receives. */
        public Builder receiveCompletionQueue(CompletionQueue queue) {
            receiveCompletionQueue = queue;
            return this;
        }

        /** Sets the maximum number of outstanding sends. */
        public Builder maxSendWr(int count) {
            maxSendWr = count;
            return this;
        }

        /** Sets the maximum number of outstanding receives. */
        public Builder maxReceiveWr(int count) {
            maxReceiveWr = count;
            return this;
        }

        /** Sets the maximum number of SGEs of a send. */
        public Builder maxSendSge(int count) {
            maxSendSge = count;
            return this;
        }

        /** Sets the maximum number of SGEs of a receive. */
        public Builder maxReceiveSge(int count) {
            maxReceiveSge = count;
            return this;
        }

        /** Sets the maximum number of bytes of an inline send. */
        public Builder maxInlineDataBytes(int lengthBytes) {
            maxInlineDataBytes = lengthBytes;
            return this;
        }

        /** Sets the maximum length of the headers of a TSO send; 0 disables TSO. */
        public Builder maxTsoHeaderBytes(int lengthBytes) {
            maxTsoHeaderBytes = lengthBytes;
            return this;
        }

        /** Sets whether every send generates a completion. */
        public Builder signalAll(boolean all) {
            signalAll = all;
            return this;
        }

        /** Sets the creation flags: an OR of {@link #BLOCK_SELF_MULTICAST_LOOPBACK} and so on. */
        public Builder createFlags(int flags) {
            createFlags = flags;
            return this;
        }

        /**
         * Sets whether the queue pair receives matching frames sent by its own port. The default is the system
         * property {@value #SELF_LOOPBACK_PROPERTY}; unset means false.
         */
        public Builder selfLoopback(boolean receivesOwn) {
            selfLoopback = receivesOwn;
            return this;
        }

        /**
         * Creates an RSS queue pair. It only receives, and has neither rings nor completion queues; this method
         * resets them.
         */
        public Builder rss(RssOptions options) {
            rss = options;
            completionQueue(null);
            maxSendWr = 0;
            maxReceiveWr = 0;
            maxSendSge = 0;
            maxReceiveSge = 0;
            return this;
        }

        /** Validates and returns the options. */
        public QueuePairOptions build() {
            return new QueuePairOptions(sendCompletionQueue, receiveCompletionQueue, maxSendWr, maxReceiveWr,
                    maxSendSge, maxReceiveSge, maxInlineDataBytes, maxTsoHeaderBytes, signalAll, createFlags,
                    selfLoopback, rss);
        }
    }
}
