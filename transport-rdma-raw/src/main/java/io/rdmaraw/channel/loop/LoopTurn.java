package io.rdmaraw.channel.loop;

import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.tcp.stack.TcpStack;

/**
 * One turn of a loop over its queues. A turn has four steps:
 *
 * <ol>
 * <li><i>Receive</i>: every queue is polled once; its frames are parsed and demultiplexed by flow tag.
 * <li><i>Process</i>: the TCP core processes its segments; payload is queued at the connection's endpoint. This step
 *     is part of {@link DeviceQueue#receive} and runs no handler.
 * <li><i>Deliver</i>: channels fire their reads; handlers write and flush. Senders that waited for room continue, and a
 *     queue that has failed recovers.
 * <li><i>Transmit</i>: expired timers run, and the TCP core builds frames. Each queue rings one doorbell
 *     per burst of frames.
 * </ol>
 *
 * <p>The first three steps repeat while frames arrive; <i>transmit</i> runs once, at the end. One doorbell for all
 * replies costs about as much as a doorbell for the first reply alone. A bulk sender gets one acknowledgement for all
 * its received segments.
 *
 * <p>The first reply waits until the repetition ends. Two limits bound this delay: the number of received frames, and
 * the number of connections that have received data.
 *
 * <p>Four more places receive:
 *
 * <ul>
 * <li>a TCP flush outside of a read ({@link TcpStack#receiveNow}): it must fail if a reset arrived while tasks blocked
 *     the loop;
 * <li>a TCP flush that finds the send buffer full ({@link TcpStack#receiveNow}): it needs acknowledgements;
 * <li>a change of a listener's rules, and a takeover: they drain the queue first;
 * <li>the recovery of a failed queue, and the removal of a device: they drain the queue and deliver its frames.
 * </ul>
 *
 * <p>Only the last one runs handlers. Datagram and raw channels send within <i>deliver</i>, when they are flushed.
 *
 * <p>Used on the loop's thread only.
 */
public final class LoopTurn {
    private static final int MAX_CONNECTIONS = 32;
    /** Limit of frames per turn: about a megabyte of full segments, or a quarter of a millisecond. */
    private static final int MAX_FRAMES = 512;

    /** Replaced, never modified, because handlers open and close queues during a turn. */
    private DeviceQueue[] deviceQueues = {};
    private TcpStack tcpStackOrNull;

    /** Sets the queues that are polled. */
    public void setDeviceQueues(DeviceQueue[] newQueues) {
        deviceQueues = newQueues;
    }

    public DeviceQueue[] deviceQueues() {
        return deviceQueues;
    }

    /** Sets the TCP stack of the loop; null removes it. */
    public void setTcpStack(TcpStack stackOrNull) {
        tcpStackOrNull = stackOrNull;
    }

    /** Runs a turn; returns 0 if no step had work. */
    public int run() {
        return run(receive());
    }

    /**
     * Continues a turn after its first {@link #receive}. The last repetition has no frames: its <i>deliver</i> resumes
     * senders.
     *
     * @return 0 if no step had work
     */
    public int run(int receivedFrames) {
        int busySteps = 0;
        int frames = 0;
        int connections = 0;
        int received = receivedFrames;
        while (true) {
            busySteps += received > 0 ? 1 : 0;
            frames += received;
            busySteps += deliverFrames();
            int delivered = deliverStreams();
            connections += delivered;
            busySteps += delivered > 0 ? 1 : 0;
            if (received == 0 || frames >= MAX_FRAMES || connections >= MAX_CONNECTIONS) {
                break;
            }
            received = receive();
        }
        TcpStack tcpStack = tcpStackOrNull;
        return tcpStack != null && tcpStack.transmit() ? busySteps + 1 : busySteps;
    }

    /** Steps <i>receive</i> and <i>process</i>; returns the number of frames. */
    public int receive() {
        int frames = 0;
        for (DeviceQueue deviceQueue : deviceQueues) {
            frames += deviceQueue.receive();
        }
        return frames;
    }

    private int deliverFrames() {
        int busySteps = 0;
        for (DeviceQueue deviceQueue : deviceQueues) {
            busySteps += deviceQueue.deliver() ? 1 : 0;
        }
        return busySteps;
    }

    private int deliverStreams() {
        TcpStack tcpStack = tcpStackOrNull;
        return tcpStack == null ? 0 : tcpStack.deliver();
    }

    /** Returns whether a queue has something to deliver, so that a turn has work even if no frame was received. */
    public boolean hasPendingDelivery() {
        for (DeviceQueue deviceQueue : deviceQueues) {
            if (deviceQueue.needsDelivery()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns the time at which the next turn must run; {@link Long#MAX_VALUE} if only a frame or a task requires one.
     */
    public long nextDeadlineNanos() {
        if (hasPendingDelivery()) {
            return System.nanoTime();
        }
        TcpStack tcpStack = tcpStackOrNull;
        return tcpStack == null ? Long.MAX_VALUE : tcpStack.nextDeadlineNanos();
    }
}
