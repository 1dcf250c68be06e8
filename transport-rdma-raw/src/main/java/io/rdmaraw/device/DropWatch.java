package io.rdmaraw.device;

import io.rdmaraw.capture.FrameTap;
import io.rdmaraw.metrics.internal.FrameDrops;
import io.rdmaraw.queue.ReceiveBurst;

/**
 * Finds out why captured frames are dropped, by reading the counters of drops before and after each frame. So the code
 * that drops frames only counts, and the reasons in captures are those of the counters. Frames that are merged into one
 * segment have the same reason. Used on the loop's thread only.
 */
final class DropWatch {
    private static final FrameReceiver[] NONE = {};

    private final ReceiveBurst burst;
    private final Counts queueCounts = new Counts();
    private final Counts receiverCounts = new Counts();
    private final FrameDrops<?> queueDrops;
    private FrameReceiver[] receivers = NONE;
    private FrameDrops<?> receiverDropsOrNull;
    private FrameTap tap;
    /** Index of the present frame, or -1 if there is none. */
    private int present = -1;

    /** The counters of one object, read before the present frame. */
    private static final class Counts {
        private FrameDrops<?> dropsOrNull;
        private long[] values = {};

        void read(FrameDrops<?> newDropsOrNull) {
            dropsOrNull = newDropsOrNull;
            if (dropsOrNull != null) {
                if (values.length < dropsOrNull.size()) {
                    values = new long[dropsOrNull.size()];
                }
                dropsOrNull.read(values);
            }
        }

        /** Returns the reason that was counted since {@link #read}, or null. */
        String reasonOrNull() {
            return dropsOrNull == null ? null : dropsOrNull.reasonSinceOrNull(values);
        }
    }

    DropWatch(ReceiveBurst burst, FrameDrops<?> queueDrops) {
        this.burst = burst;
        this.queueDrops = queueDrops;
    }

    /** Begins to watch frames of a captured burst. */
    void begin() {
        tap = burst.tapOrNull();
        present = -1;
        receivers = NONE;
        receiverDropsOrNull = null;
        burst.setTakeListener(this::onTake);
    }

    /** Sets the receivers of the next frames. */
    void setReceivers(FlowTagTable.Entry entryOrNull) {
        endFrame();
        receivers = entryOrNull == null ? NONE : entryOrNull.receivers;
        receiverDropsOrNull = null;
        try {
            receiverDropsOrNull = receivers.length == 0 ? null : receivers[0].frameDrops();
        } catch (RuntimeException | Error e) {
            tap.fail(e);
        }
    }

    private void onTake(int index) {
        endFrame();
        try {
            queueCounts.read(queueDrops);
            receiverCounts.read(receiverDropsOrNull);
            present = index;
        } catch (RuntimeException | Error e) {
            tap.fail(e);
        }
    }

    /** Writes the reason for which the present frame was dropped, if any, and its channel. */
    private void endFrame() {
        if (present < 0) {
            return;
        }
        int from = present;
        present = -1;
        try {
            String reason = receiverCounts.reasonOrNull();
            if (reason == null) {
                reason = queueCounts.reasonOrNull();
            }
            String channel = receivers.length == 1 ? receivers[0].id() : "";
            for (int i = from; i < burst.takenEnd(); i++) {
                write(burst.capturedPosition(i), reason, channel);
            }
        } catch (RuntimeException | Error e) {
            tap.fail(e);
        }
    }

    private void write(long position, String reasonOrNull, String channel) {
        if (position < 0) {
            return;
        }
        if (reasonOrNull != null) {
            tap.setReason(position, reasonOrNull);
        }
        if (!channel.isEmpty()) {
            tap.setChannel(position, channel);
        }
    }

    void end() {
        endFrame();
        burst.setTakeListener(null);
    }
}
