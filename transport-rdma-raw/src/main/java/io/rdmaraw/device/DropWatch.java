package io.rdmaraw.device;

import io.rdmaraw.capture.FrameTap;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.queue.ReceiveBurst;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds out why captured frames are dropped, by reading the counters of drops before and after each frame. So the code
 * that drops frames only counts, and the reasons in captures are those of the counters. Used on the loop's thread only.
 */
final class DropWatch {
    private final ReceiveBurst burst;
    private final Counts queueCounts;
    private final Counts receiverCounts;
    private FrameReceiver[] receivers;
    private FrameTap tap;
    /** Position of the present frame in the tap, or -1 if there is none. */
    private long position;

    /** The counters of one object. */
    private static final class Counts {
        private final Map<List<RdmaRawMetric>, RdmaRawMetric[]> dropsOfClass = new IdentityHashMap<>();
        private RdmaRawMetered source;
        private RdmaRawMetric[] drops = {};
        private long[] values = {};

        void read(RdmaRawMetered newSourceOrNull) {
            source = newSourceOrNull;
            drops = source == null ? new RdmaRawMetric[0]
                    : dropsOfClass.computeIfAbsent(source.metrics(), Counts::dropsOfFrames);
            if (values.length < drops.length) {
                values = new long[drops.length];
            }
            for (int i = 0; i < drops.length; i++) {
                values[i] = source.value(drops[i]);
            }
        }

        /** Excludes the counters of the device, which count frames that no queue has received. */
        private static RdmaRawMetric[] dropsOfFrames(List<RdmaRawMetric> metrics) {
            return metrics.stream().filter(metric -> metric.kind() == RdmaRawMetric.Kind.DROP
                    && metric.scope() == RdmaRawMetric.Scope.OWN).toArray(RdmaRawMetric[]::new);
        }

        /** Returns the reason that has counted since {@link #read}, or null. */
        String reasonOrNull() {
            for (int i = 0; i < drops.length; i++) {
                if (source.value(drops[i]) != values[i]) {
                    return drops[i].name();
                }
            }
            return null;
        }
    }

    DropWatch(ReceiveBurst burst, RdmaRawMetered queueStatistics) {
        this.burst = burst;
        queueCounts = new Counts();
        receiverCounts = new Counts();
        queueCounts.source = queueStatistics;
    }

    /** Begins to watch frames of a captured burst. */
    void begin() {
        tap = burst.tapOrNull();
        position = -1;
        burst.setTakeListener(this::onTake);
    }

    /** Sets the receivers of the next frames. */
    void setReceivers(FlowTagTable.Entry entryOrNull) {
        endFrame();
        receivers = entryOrNull == null ? new FrameReceiver[0] : entryOrNull.receivers;
    }

    private void onTake(int index) {
        endFrame();
        position = burst.capturedPosition(index);
        if (position >= 0) {
            queueCounts.read(queueCounts.source);
            receiverCounts.read(receivers.length == 0 ? null : receivers[0].dropCounters());
        }
    }

    /** Writes the reason for which the present frame was dropped, if any, and its channel. */
    private void endFrame() {
        if (position < 0) {
            return;
        }
        String reason = receiverCounts.reasonOrNull();
        if (reason == null) {
            reason = queueCounts.reasonOrNull();
        }
        if (reason != null) {
            tap.setReason(position, reason);
        }
        if (receivers.length == 1 && !receivers[0].id().isEmpty()) {
            tap.setChannel(position, receivers[0].id());
        }
        position = -1;
    }

    void end() {
        endFrame();
        burst.setTakeListener(null);
    }
}
