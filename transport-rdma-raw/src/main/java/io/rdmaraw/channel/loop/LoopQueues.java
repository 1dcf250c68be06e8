package io.rdmaraw.channel.loop;

import io.netty.util.concurrent.ThreadAwareExecutor;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.host.DeviceRequirements;
import io.rdmaraw.loop.LoopFailures;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.objects.CompletionChannel;

import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The queues of a loop, one per device port. A queue is opened when a channel first needs it. It is closed when its
 * device is removed or the loop ends. Used on the loop's thread only.
 */
public final class LoopQueues {
    /** Port number that stands for the device's own port. */
    public static final int OWN_PORT = 0;

    /** The loop, which learns of changes. */
    public interface Owner {
        /** Reports that queues have been opened or closed. */
        void queuesChanged();

        /** Reports that a queue closes, because its device was removed. */
        void queueRemoved(DeviceQueue removed);
    }

    private final ThreadAwareExecutor loop;
    private final FrameQueueOptions options;
    private final Map<String, List<RdmaRawMetric>> metricsByKind;
    private final LoopStatistics statistics;
    private final LoopFailures failures;
    private final Owner owner;
    private final List<DeviceQueue> queues = new ArrayList<>();

    /**
     * Creates the set of a loop's queues, which is empty.
     *
     * @param metricsByKind the metrics of the users of a queue, by their kind
     */
    public LoopQueues(ThreadAwareExecutor loop, FrameQueueOptions options,
            Map<String, List<RdmaRawMetric>> metricsByKind, LoopStatistics statistics, LoopFailures failures,
            Owner owner) {
        this.loop = loop;
        this.options = options;
        this.metricsByKind = metricsByKind;
        this.statistics = statistics;
        this.failures = failures;
        this.owner = owner;
    }

    /** Returns the open queues in the order of their opening. */
    public List<DeviceQueue> all() {
        return queues;
    }

    /**
     * Returns the queue on a device port. The first call opens it.
     *
     * @param portNumber number of the port, or {@link #OWN_PORT}
     * @throws SocketException if the device cannot be opened or does not support raw packets; its cause is the
     *         {@link VerbsException}
     */
    public DeviceQueue open(String deviceName, int portNumber) throws SocketException {
        for (DeviceQueue queue : queues) {
            if (queue.device().name().equals(deviceName)
                    && queue.portNumber() == portOf(queue.device(), portNumber)) {
                return queue;
            }
        }
        DeviceQueue opened = openNew(deviceName, portNumber);
        queues.add(opened);
        statistics.add(opened.statistics());
        owner.queuesChanged();
        return opened;
    }

    private static int portOf(SharedDevice device, int portNumber) {
        return portNumber == OWN_PORT ? device.context().ownPort() : portNumber;
    }

    private DeviceQueue openNew(String deviceName, int portNumber) throws SocketException {
        SharedDevice device = null;
        CompletionChannel channel = null;
        try {
            device = SharedDevice.acquire(deviceName);
            int port = portOf(device, portNumber);
            device.checkPort(port);
            channel = device.context().createCompletionChannel();
            return new DeviceQueue(device, port, channel, loop, options, metricsByKind, failures::add,
                    this::closeRemoved);
        } catch (RuntimeException e) {
            if (channel != null) {
                channel.close();
            }
            if (device != null) {
                device.release();
            }
            RuntimeException explained = DeviceRequirements.withMissingRequirements(e, deviceName);
            if (explained instanceof VerbsException) {
                // The operations of Netty's channels fail with I/O exceptions.
                throw new SocketException(explained.getMessage(), explained);
            }
            throw explained;
        }
    }

    private void closeRemoved(DeviceQueue removed) {
        owner.queueRemoved(removed);
        queues.remove(removed);
        statistics.remove(removed.statistics());
        owner.queuesChanged();
        removed.close();
    }

    /** Closes all queues. A failure is recorded, so that the remaining queues are closed too. */
    public void close() {
        for (DeviceQueue queue : List.copyOf(queues)) {
            statistics.remove(queue.statistics());
            try {
                queue.close();
            } catch (RuntimeException e) {
                failures.add(e);
            }
        }
        queues.clear();
    }
}
