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
public final class DeviceEvents {
    private final String device;
    private final int port;
    private long copiedBefore;
    private boolean slow;
    private long copiedAtStart;
    /**
     * The current {@link FlightRecorderEvents.SlowConsumer} event, or null. The type is Object because JFR may
     * be missing.
     */
    private Object slowEvent;

    public DeviceEvents(String device, int port) {
        this.device = device;
        this.port = port;
    }

    /**
     * Called after each burst.
     *
     * @param copiedFrames number of frames copied out so far
     */
    public void burst(long copiedFrames) {
        if (copiedFrames != copiedBefore || slow) {
            copying(copiedFrames);
        }
    }

    private void copying(long copiedFrames) {
        boolean copied = copiedFrames != copiedBefore;
        if (copied && !slow) {
            slow = true;
            copiedAtStart = copiedBefore;
            if (MetricsExporters.HAS_FLIGHT_RECORDER) {
                slowEvent = beginSlowConsumer();
            }
        } else if (!copied) {
            slow = false;
            if (slowEvent != null) {
                endSlowConsumer(copiedFrames - copiedAtStart);
            }
        }
        copiedBefore = copiedFrames;
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
        FlightRecorderEvents.SlowConsumer event = (FlightRecorderEvents.SlowConsumer) slowEvent;
        slowEvent = null;
        event.device = device;
        event.port = port;
        event.copiedFrames = copiedFrames;
        event.commit();
    }

    /** Runs a recovery inside an event and returns its result, the number of lost frames. */
    long recovery(LongSupplier recover) {
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
     * @param made  the rules added; empty if the channel has detached
     * @param rules the number of rules of the queue after the change
     */
    void flows(FrameReceiver channel, List<FlowSpec> made, int rules) {
        if (MetricsExporters.HAS_FLIGHT_RECORDER) {
            commitFlows(channel, made, rules);
        }
    }

    private void commitFlows(FrameReceiver channel, List<FlowSpec> made, int rules) {
        FlightRecorderEvents.FlowChange event = new FlightRecorderEvents.FlowChange();
        if (event.shouldCommit()) {
            event.device = device;
            event.port = port;
            event.channel = channel.id();
            event.made = made.isEmpty() ? "" : made.toString();
            event.rules = rules;
            event.commit();
        }
    }
}
