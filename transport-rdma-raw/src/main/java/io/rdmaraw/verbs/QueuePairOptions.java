package io.rdmaraw.verbs;

import java.util.Objects;

/**
 * What a raw-packet queue pair is created with: completion queues, sizes of its rings, flags, and RSS. Immutable.
 *
 * @param sendCompletionQueue    where sends complete
 * @param receiveCompletionQueue where receives complete
 * @param maxSendWr              send requests that can be outstanding
 * @param maxReceiveWr           receive requests that can be outstanding
 * @param maxSendSge             memory pieces of one send
 * @param maxReceiveSge          memory pieces of one receive
 * @param maxInlineDataBytes     bytes that a send can carry inline
 * @param maxTsoHeaderBytes      bytes of headers that a TSO send can carry; 0 for no TSO
 * @param signalAll              whether every send completes, flagged or not
 * @param createFlags            {@link #BLOCK_SELF_MULTICAST_LOOPBACK} and so on, or 0
 * @param selfLoopback           whether it receives what its own port sends, when its rules match: what one port of
 *                               soft:loop always does, and one of a ConnectX only then
 * @param rssOrNull              makes an RSS queue pair, which receives through work queues; it has no
 *                               completion queues (null) and no rings (all sizes 0)
 */
public record QueuePairOptions(CompletionQueue sendCompletionQueue, CompletionQueue receiveCompletionQueue,
        int maxSendWr, int maxReceiveWr, int maxSendSge, int maxReceiveSge, int maxInlineDataBytes,
        int maxTsoHeaderBytes, boolean signalAll, int createFlags, boolean selfLoopback,
        RssOptions rssOrNull) {
    /** The system property that sets the default of {@link Builder#selfLoopback}. */
    public static final String SELF_LOOPBACK_PROPERTY = "io.rdmaraw.selfLoopback";
    /** {@code IBV_QP_CREATE_BLOCK_SELF_MCAST_LB}: do not receive our own multicast and broadcast. */
    public static final int BLOCK_SELF_MULTICAST_LOOPBACK = 1 << 1;
    /** {@code IBV_QP_CREATE_SCATTER_FCS}: received frames end with their checksum. */
    public static final int SCATTER_FCS = 1 << 8;
    /** {@code IBV_QP_CREATE_CVLAN_STRIPPING}: the VLAN tag is taken out of received frames. */
    public static final int CVLAN_STRIPPING = 1 << 9;

    /** Checks that the numbers can be meant; what the device offers is checked by the device. */
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
            throw new IllegalArgumentException("an RSS queue pair completes through its work queues: it takes no"
                    + " completion queue");
        } else if ((maxSendWr | maxReceiveWr | maxSendSge | maxReceiveSge | maxInlineDataBytes) != 0) {
            throw new IllegalArgumentException("an RSS queue pair only spreads to work queues and has no rings of its"
                    + " own: all sizes must be 0");
        }
    }

    /** Starts from queues of 256 with one SGE each, without inline data, signalling what asks for it. */
    public static Builder builder() {
        return new Builder();
    }

    private static void notNegative(int value, String name) {
        if (value < 0) {
            throw new IllegalArgumentException(name + " must not be negative, and is " + value);
        }
    }

    /** Collects the options. */
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

        /** Sets where sends complete. */
        public Builder sendCompletionQueue(CompletionQueue queue) {
            sendCompletionQueue = queue;
            return this;
        }

        /** Sets where receives complete. */
        public Builder receiveCompletionQueue(CompletionQueue queue) {
            receiveCompletionQueue = queue;
            return this;
        }

        /** Sets how many sends can be outstanding. */
        public Builder maxSendWr(int count) {
            maxSendWr = count;
            return this;
        }

        /** Sets how many receives can be outstanding. */
        public Builder maxReceiveWr(int count) {
            maxReceiveWr = count;
            return this;
        }

        /** Sets how many pieces one send can gather. */
        public Builder maxSendSge(int count) {
            maxSendSge = count;
            return this;
        }

        /** Sets how many pieces one receive can scatter to. */
        public Builder maxReceiveSge(int count) {
            maxReceiveSge = count;
            return this;
        }

        /** Sets how many bytes a send can carry inline. */
        public Builder maxInlineDataBytes(int lengthBytes) {
            maxInlineDataBytes = lengthBytes;
            return this;
        }

        /** Sets how many bytes of headers a TSO send can carry. */
        public Builder maxTsoHeaderBytes(int lengthBytes) {
            maxTsoHeaderBytes = lengthBytes;
            return this;
        }

        /** Sets whether every send completes. */
        public Builder signalAll(boolean all) {
            signalAll = all;
            return this;
        }

        /** Sets the creation flags. */
        public Builder createFlags(int flags) {
            createFlags = flags;
            return this;
        }

        /**
         * Sets whether the queue pair receives what its own port sends. The default is the system property
         * {@value #SELF_LOOPBACK_PROPERTY}, else false.
         */
        public Builder selfLoopback(boolean receivesOwn) {
            selfLoopback = receivesOwn;
            return this;
        }

        /** Makes an RSS queue pair: it only receives, and has neither rings nor completion queues of its own. */
        public Builder rss(RssOptions options) {
            rss = options;
            completionQueue(null);
            maxSendWr = 0;
            maxReceiveWr = 0;
            maxSendSge = 0;
            maxReceiveSge = 0;
            return this;
        }

        /** Makes the options, after checking them. */
        public QueuePairOptions build() {
            return new QueuePairOptions(sendCompletionQueue, receiveCompletionQueue, maxSendWr, maxReceiveWr,
                    maxSendSge, maxReceiveSge, maxInlineDataBytes, maxTsoHeaderBytes, signalAll, createFlags,
                    selfLoopback, rss);
        }
    }
}
