package io.rdmaraw.queue;

import io.rdmaraw.memory.RegisteredRanges;
import io.rdmaraw.verbs.AsyncEvent;
import io.rdmaraw.verbs.AsyncEventType;
import io.rdmaraw.verbs.ExtendedDeviceAttributes;
import io.rdmaraw.verbs.ProtectionDomain;
import io.rdmaraw.verbs.Softverbs;
import io.rdmaraw.verbs.SoftverbsQueueCounters;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.VerbsDevices;

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.ToLongFunction;

/**
 * An open device, shared by all loops of the process: one context and one protection domain, so that memory registered
 * by one loop can be sent by every other. Counted references; closed with the last one. Thread-safe.
 */
public final class SharedDevice {
    private static final Map<String, SharedDevice> OPEN = new HashMap<>();

    private final String name;
    private final VerbsContext context;
    private final ProtectionDomain protectionDomain;
    private final RegisteredRanges registeredRanges = new RegisteredRanges();
    private final boolean offloadsChecksums;
    private final int maxSegmentedBytes;
    private final int ports;
    private SpreadFlows spreadFlows;
    /** Queues that closed before there were any spread rules. */
    private final Set<FrameQueue> retiredBefore = Collections.newSetFromMap(new WeakHashMap<>());
    private final List<AsyncListener> listeners = new CopyOnWriteArrayList<>();
    private int references = 1;
    /** What softverbs had counted when the device was closed. */
    private SoftverbsQueueCounters lastReceived;

    /** Hears of what happens to the device; called on the thread that found the event. */
    public interface AsyncListener {
        /** Called for each asynchronous event of the device. */
        void onAsyncEvent(AsyncEvent event);
    }

    private SharedDevice(String name, VerbsContext context) {
        this.name = name;
        this.context = context;
        protectionDomain = context.allocateProtectionDomain();
        ExtendedDeviceAttributes attributes = context.queryDeviceExtended();
        ports = attributes.ports();
        offloadsChecksums = (attributes.rawPacketCapabilities() & ExtendedDeviceAttributes.RAW_PACKET_IP_CSUM) != 0;
        boolean segments = (attributes.tsoQueuePairTypes() & ExtendedDeviceAttributes.TYPE_RAW_PACKET_BIT) != 0;
        maxSegmentedBytes = segments && offloadsChecksums ? attributes.maxTsoBytes() : 0;
    }

    /**
     * Opens a device, or returns it with one more reference if it is open already.
     *
     * @throws io.rdmaraw.verbs.VerbsException when there is no such device or it cannot be opened
     */
    public static SharedDevice acquire(String name) {
        synchronized (OPEN) {
            SharedDevice device = OPEN.get(name);
            if (device != null) {
                return device.retain();
            }
            VerbsContext context = VerbsDevices.open(name);
            try {
                device = new SharedDevice(name, context);
            } catch (RuntimeException e) {
                context.close();
                throw e;
            }
            OPEN.put(name, device);
            return device;
        }
    }

    /** Takes one more reference. */
    public SharedDevice retain() {
        synchronized (OPEN) {
            references++;
            return this;
        }
    }

    /** Gives a reference back; the last one closes the device. */
    public void release() {
        synchronized (OPEN) {
            if (--references == 0) {
                OPEN.remove(name, this);
                if (Softverbs.isSoftverbs(context)) {
                    lastReceived = Softverbs.of(context).received();
                }
                protectionDomain.close();
                context.close();
            }
        }
    }

    /** @throws IllegalArgumentException when the device has no such port */
    public void checkPort(int portNumber) {
        if (portNumber < 1 || portNumber > ports) {
            throw new IllegalArgumentException(name + " has no port " + portNumber + "; "
                    + (ports == 1 ? "its only one is 1" : "its ports are 1 to " + ports));
        }
    }

    /** Returns the name it was opened by. */
    public String name() {
        return name;
    }

    /** Returns the open context. */
    public VerbsContext context() {
        return context;
    }

    /** Returns the protection domain that all queues and slabs of the device live in. */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /** Returns what memory is registered. */
    public RegisteredRanges registeredRanges() {
        return registeredRanges;
    }

    /** Returns the rules that several loops share. */
    public synchronized SpreadFlows spreadFlows() {
        if (spreadFlows == null) {
            spreadFlows = new SpreadFlows(context, protectionDomain);
            retiredBefore.forEach(spreadFlows::retire);
        }
        return spreadFlows;
    }

    /** A queue is about to close: no rule leads to it any more. Asks nothing of the device, which may be gone. */
    public synchronized void retire(FrameQueue queue) {
        if (spreadFlows != null) {
            spreadFlows.retire(queue);
        } else {
            retiredBefore.add(queue);
        }
    }

    /**
     * Asks softverbs how many frames the interface dropped because its ring was full, since the device was first
     * opened. 0 on other providers.
     */
    public long ringFullDrops() {
        return receivedCount(SoftverbsQueueCounters::wireFull);
    }

    /** As {@link #ringFullDrops()}, the SYNs that were dropped when more came than were looked at. */
    public long synRingFullDrops() {
        return receivedCount(SoftverbsQueueCounters::synsFull);
    }

    /** As {@link #ringFullDrops()}, the TCP segments of no connection, when more came than is looked at. */
    public long strangerDrops() {
        return receivedCount(SoftverbsQueueCounters::strangersFull);
    }

    /** As {@link #ringFullDrops()}, the frames that came by a receive queue of the interface without a socket. */
    public long unservedFrames() {
        return receivedCount(SoftverbsQueueCounters::unserved);
    }

    /** As {@link #ringFullDrops()}, the frames that came in while no receive was posted on their queue. */
    public long noReceiveDrops() {
        return receivedCount(SoftverbsQueueCounters::noReceive);
    }

    /** As {@link #ringFullDrops()}, the received frames that softverbs copied out of the interface's ring. */
    public long copiedFromRing() {
        return receivedCount(SoftverbsQueueCounters::copied);
    }

    /**
     * Asks softverbs how many rules in force take frames that the kernel may answer too; 0 on other providers and when
     * the device is closed.
     */
    public long unquietRules() {
        if (!Softverbs.isSoftverbs(context)) {
            return 0;
        }
        synchronized (OPEN) {
            return references > 0 ? Softverbs.of(context).unquietRules() : 0;
        }
    }

    private long receivedCount(ToLongFunction<SoftverbsQueueCounters> counter) {
        if (!Softverbs.isSoftverbs(context)) {
            return 0;
        }
        synchronized (OPEN) {
            return counter.applyAsLong(references > 0 ? Softverbs.of(context).received() : lastReceived);
        }
    }

    /** Tells whether the device computes the checksums of IPv4, UDP and TCP in frames that are sent. */
    public boolean offloadsChecksums() {
        return offloadsChecksums;
    }

    /** Returns how long a TCP payload may be that the device cuts into segments when it is sent; 0: it cuts none. */
    public int maxSegmentedBytes() {
        return maxSegmentedBytes;
    }

    /** Adds a listener for asynchronous events. */
    public void addListener(AsyncListener listener) {
        listeners.add(listener);
    }

    /** Removes a listener. */
    public void removeListener(AsyncListener listener) {
        listeners.remove(listener);
    }

    /** Takes all asynchronous events that wait and tells every listener of each. Does not block. */
    public void dispatchAsyncEvents() {
        AsyncEvent event;
        while ((event = nextAsyncEvent()) != null) {
            if (event.type() == AsyncEventType.DEVICE_FATAL) {
                // Whoever asks for the device by its name from now on gets the one that comes back.
                synchronized (OPEN) {
                    OPEN.remove(name, this);
                }
            }
            for (AsyncListener listener : listeners) {
                listener.onAsyncEvent(event);
            }
        }
    }

    private synchronized AsyncEvent nextAsyncEvent() {
        return context.pollAsyncEvent();
    }
}
