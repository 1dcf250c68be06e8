package io.rdmaraw.testsuite.netlink;

import io.rdmaraw.host.kernel.KernelIpHost;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.function.Consumer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

/** A link can be used as soon as the kernel has it, although another thread reads the kernel's notifications. */
@Timeout(60)
@WithTestNetwork
class NewLinkTest {
    @Test
    void linkIsFoundAlthoughItsNotificationHasNotBeenRead(TestNetwork network) throws Exception {
        NetworkNamespace namespace = network.namespace();
        KernelIpHost host = namespace.call(KernelIpHost::ofCallingThread);
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        // Listeners run on the thread that reads notifications.
        Consumer<NetworkSnapshot> holder = snapshot -> {
            held.countDown();
            try {
                released.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        };
        host.addListener(holder);
        namespace.run("ip", "link", "add", "rrfirst", "type", "veth", "peer", "name", "rrfirstp");
        held.await();
        namespace.run("ip", "link", "add", "rrnew", "type", "veth", "peer", "name", "rrnewp");
        assertNull(host.snapshot().link("rrnew"));
        int listeners = host.listenerCount();
        FutureTask<Link> call = new FutureTask<>(() -> host.link("rrnew"));
        namespace.threadFactory().newThread(call).start();
        while (host.listenerCount() == listeners && !call.isDone()) {
            Thread.onSpinWait();
        }
        released.countDown();
        Link link = call.get();
        host.removeListener(holder);
        assertNotNull(link);
        assertEquals("rrnew", link.name());
        assertNull(namespace.call(() -> host.link("rrmissing")));
    }
}
