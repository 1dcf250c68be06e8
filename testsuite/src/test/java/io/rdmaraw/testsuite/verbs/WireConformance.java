package io.rdmaraw.testsuite.verbs;

import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.softverbs.Softverbs;

/** A veth pair with a softverbs device at each end. The kernel does not send on it. */
final class WireConformance implements ProviderConformance.Devices {
    private static final int DEFAULT_MTU_BYTES = 1500;

    private final String kind;
    private final int mtuBytes;
    private final VethPair pair;

    WireConformance(String kind, TestNetwork network) {
        this(kind, network, DEFAULT_MTU_BYTES);
    }

    WireConformance(String kind, TestNetwork network, int mtuBytes) {
        this.kind = kind;
        this.mtuBytes = mtuBytes;
        pair = network.withoutCapture().vethPair(network.current(), network.current());
        pair.ours().setMtu(mtuBytes);
        pair.peer().setMtu(mtuBytes);
        quiet(pair.ours());
        quiet(pair.peer());
    }

    /** Removes the addresses, so that the kernel sends no neighbour discovery and no multicast reports. */
    private static void quiet(VethEnd end) {
        end.namespace().run("ip", "addr", "flush", "dev", end.name());
        end.namespace().run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/" + end.name() + "/disable_ipv6");
    }

    @Override
    public String sender() {
        return "soft:" + kind + ':' + pair.ours().name();
    }

    @Override
    public String receiver() {
        return "soft:" + kind + ':' + pair.peer().name();
    }

    @Override
    public int mtuBytes() {
        return mtuBytes;
    }

    /** Waits for the drops. Frames take time to arrive, and the device processes them only when it is polled. */
    static void awaitDropped(Port receiver, long before, int frames) {
        Await.until(frames + " frames dropped for want of a receive", () -> {
            if (!receiver.poll().isEmpty()) {
                throw new AssertionError("a completion came instead of a drop");
            }
            return Softverbs.of(receiver.context).receivedCounters().noReceive() >= before + frames;
        });
    }

    static void awaitIgnored(Port receiver, QueuePair queuePair) {
        Await.until("a frame that the queue pair was not ready for", () -> {
            receiver.poll();
            return SoftverbsFaults.of(receiver.context).received(queuePair).notReady() == 1;
        });
    }
}
