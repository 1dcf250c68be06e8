package io.rdmaraw.device;

import io.rdmaraw.metrics.internal.FlightRecorderEvents;
import io.rdmaraw.metrics.internal.MetricsExporters;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.List;
import java.util.function.LongSupplier;

/**
 * Records JFR events of one queue. Without a recording, a call costs a test or two and allocates nothing. Used
 * on the loop's thread only.
 */
public final class QueueFlightRecorder {
    private final String device;
    private final int port;
    private long lastCopiedFrames;
    private boolean slowConsumer;
    private long copiedFramesAtStart;
    /**
     * The current {@link FlightRecorderEvents.SlowConsumer} event, or null. The type is Object because JFR may
     * be missing.
     */
    private Object slowConsumerEvent;

    public QueueFlightRecorder(String device, int port) {
        this.device = device;
        this.port = port;
    }

    /**
     * Called after each burst.
     *
     * @param copiedFrames number of frames copied out so far
     */
    public void onBurst(long copiedFrames) {
        if (copiedFrames != lastCopiedFrames || slowConsumer) {
            updateSlowConsumer(copiedFrames);
        }
    }

    private void updateSlowConsumer(long copiedFrames) {
        boolean copied = copiedFrames != lastCopiedFrames;
        if (copied && !slowConsumer) {
            slowConsumer = true;
            copiedFramesAtStart = lastCopiedFrames;
            if (MetricsExporters.HAS_FLIGHT_RECORDER) {
                slowConsumerEvent = beginSlowConsumer();
            }
        } else if (!copied) {
            slowConsumer = false;
            if (slowConsumerEvent != null) {
                endSlowConsumer(copiedFrames - copiedFramesAtStart);
            }
        }
        lastCopiedFrames = copiedFrames;
    }

    private static Object beginSlowConsumer() {
        FlightRecorderEvents.SlowConsumer event = new FlightRecorderEvents.SlowConsumer();
        if (!event.isEnabled()) {
            return null;
        }
        event.begin();
        return event;
    }

    private void endSlowConsumer(long copiedFrames) {
        FlightRecorderEvents.SlowConsumer event = (FlightRecorderEvents.SlowConsumer) slowConsumerEvent;
        slowConsumerEvent = null;
        event.device = device;
        event.port = port;
        event.copiedFrames = copiedFrames;
        event.commit();
    }

    /** Runs a recovery inside an event and returns its result, the number of lost frames. */
    long recordRecovery(LongSupplier recover) {
        if (!MetricsExporters.HAS_FLIGHT_RECORDER) {
            return recover.getAsLong();
        }
        FlightRecorderEvents.QueueRecovery event = new FlightRecorderEvents.QueueRecovery();
        event.begin();
        event.lostFrames = recover.getAsLong();
        event.device = device;
        event.port = port;
        event.commit();
        return event.lostFrames;
    }

    /**
     * Records a change of the flow rules of a channel.
     *
     * @param addedRules the rules added; empty if the channel has detached
     * @param ruleCount  the number of rules of the queue after the change
     */
    void recordFlowChange(FrameReceiver receiver, List<FlowSpec> addedRules, int ruleCount) {
        if (MetricsExporters.HAS_FLIGHT_RECORDER) {
            commitFlowChange(receiver, addedRules, ruleCount);
        }
    }

    private void commitFlowChange(FrameReceiver receiver, List<FlowSpec> addedRules, int ruleCount) {
        FlightRecorderEvents.FlowChange event = new FlightRecorderEvents.FlowChange();
        if (event.shouldCommit()) {
            event.device = device;
            event.port = port;
            event.channel = receiver.id();
            event.addedRules = addedRules.isEmpty() ? "" : addedRules.toString();
            event.rules = ruleCount;
            event.commit();
        }
    }
}
