package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.DeviceAttributes;
import io.rdmaraw.verbs.objects.ExtendedDeviceAttributes;
import io.rdmaraw.verbs.objects.Flow;
import io.rdmaraw.verbs.objects.MemoryRegion;
import io.rdmaraw.verbs.objects.PortAttributes;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.RssOptions;
import io.rdmaraw.verbs.objects.RwqIndirectionTable;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.objects.VerbsObject;
import io.rdmaraw.verbs.objects.WorkQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Queries, limits, the order of closing objects, and concurrent use. */
abstract class LifecycleConformance extends ProviderConformance {
    LifecycleConformance(Devices devices) {
        super(devices);
    }

    @Test
    void deviceReportsItsAttributes() {
        DeviceAttributes device = sender.context.queryDevice();
        int number = sender.context.ownPort();
        assertTrue(number <= device.portCount(), device.toString());
        assertTrue(device.maxQpWr() >= 1024 && device.maxSge() >= 1 && device.maxCqe() >= 1024, device.toString());
        ExtendedDeviceAttributes extended = sender.context.queryDeviceExtended();
        assertEquals(device, extended.device());
        assertTrue((extended.rssQueuePairTypes() & ExtendedDeviceAttributes.TYPE_RAW_PACKET_BIT) != 0,
                extended.toString());
        assertEquals(RssOptions.FUNCTION_TOEPLITZ, extended.rssHashFunctions());
        PortAttributes port = sender.context.queryPort(number);
        assertTrue(port.isActive(), port.toString());
        assertEquals(PortAttributes.LINK_LAYER_ETHERNET, port.linkLayer());
        if (port.gidTableEntries() > 0) {
            assertEquals(16, sender.context.queryGid(number, 0).length);
        } else {
            // A card with RoCE disabled has no GID.
            assertThrows(VerbsException.class, () -> sender.context.queryGid(number, 0));
        }
        assertFails(Errno.EINVAL, () -> sender.context.queryPort(extended.portCount() + 1));
        assertThrows(VerbsException.class, () -> sender.context.queryGid(number, 99999));
        assertTrue(VerbsDevices.names().contains(sender.context.deviceName()), VerbsDevices.names().toString());
        assertTrue(sender.context.mtuBytes(number) >= 1500 && sender.context.macAddress(number).length == 6);
        assertTrue(sender.context.completionVectorCount() >= 1);
    }

    @Test
    void sizesThatTheDeviceDoesNotHaveAreRefused() {
        int maxWr = sender.context.queryDevice().maxQpWr();
        assertFails(Errno.EINVAL, () -> sender.queuePair(o -> o.maxSendWr(maxWr + 1)));
        assertFails(Errno.EINVAL, () -> sender.queuePair(o -> o.maxReceiveWr(maxWr + 1)));
        assertFails(Errno.EINVAL, () -> sender.queuePair(o -> o.maxSendSge(100_000)));
        assertFails(Errno.EINVAL, () -> sender.context.createCompletionQueue(0, null, 0));
        assertFails(Errno.EINVAL, () -> sender.context.createCompletionQueue(Integer.MAX_VALUE, null, 0));
        assertFails(Errno.EINVAL, () -> sender.context.createCompletionQueue(16, null, 9999));
        assertThrows(VerbsException.class, () -> sender.queuePair(o -> o.createFlags(1 << 30)));
    }

    @Test
    void memoryThatIsNotThereCannotBeRegistered() {
        VerbsException e = assertThrows(VerbsException.class, () -> sender.domain.registerMemory(sender.slot(), 0, 0));
        assertEquals("ibv_reg_mr", e.call());
        MemoryRegion region = sender.domain.registerMemory(sender.slot(), 5000,
                VerbsContext.ACCESS_LOCAL_WRITE | VerbsContext.ACCESS_RELAXED_ORDERING);
        assertEquals(5000, region.lengthBytes());
        MemoryRegion again = sender.domain.registerMemory(region.address(), 5000, 0);
        assertTrue(again.lkey() != region.lkey());
    }

    @Test
    void closingTheContextClosesEverythingAndTwiceIsHarmless() {
        VerbsContext context = VerbsDevices.open(devices.receiver());
        List<VerbsObject> objects = objectsOf(context);
        context.close();
        objects.forEach(o -> assertTrue(o.isClosed(), o.toString()));
        assertTrue(context.isClosed());
        objects.forEach(VerbsObject::close);
        context.close();
    }

    @Test
    void anyOrderOfClosingWorks() {
        for (int first = 0; first < 10; first++) {
            VerbsContext context = VerbsDevices.open(devices.receiver());
            List<VerbsObject> objects = objectsOf(context);
            for (int i = 0; i < objects.size(); i++) {
                VerbsObject object = objects.get((first + i * 3) % objects.size());
                object.close();
                assertTrue(object.isClosed());
            }
            context.close();
        }
    }

    /** Creates one object of each kind, with references between them. */
    private List<VerbsObject> objectsOf(VerbsContext context) {
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16, context.createCompletionChannel(), 0);
        CompletionQueue other = context.createCompletionQueue(16, null, 0);
        WorkQueue work = context.createWorkQueue(domain, other, 16, 1, 0);
        RwqIndirectionTable table = context.createIndirectionTable(work, work);
        QueuePair rss = domain.createQueuePair(QueuePairOptions.builder()
                .rss(new RssOptions(table, RssOptions.SOURCE_IPV4, new byte[40],
                        receiver.context.ownPort())).build());
        QueuePair plain = domain.createQueuePair(QueuePairOptions.builder().sendCompletionQueue(queue)
                .receiveCompletionQueue(other).build());
        Port.ready(plain);
        Flow plainFlow = flow(plain, "udp dst-port 1000");
        Flow rssFlow = flow(rss, "udp dst-port 1001");
        MemoryRegion region = domain.registerMemory(receiver.slot(), 4096, 0);
        List<VerbsObject> all = new ArrayList<>(List.of(domain, queue, other, work, table, rss, plain, plainFlow,
                rssFlow,
                region));
        return all;
    }

    @Test
    void usersOfAnObjectAreClosedBeforeIt() {
        QueuePair queuePair = receiver.readyQueuePair();
        Flow flow = flow(queuePair, "udp dst-port 1000");
        queuePair.close();
        assertTrue(flow.isClosed());
        QueuePair second = receiver.readyQueuePair();
        flow(second, "udp dst-port 1000");
        receiver.completionQueue.close();
        assertTrue(second.isClosed());
        assertFalse(receiver.domain.isClosed());
    }

    @Test
    void useAfterCloseIsAClearError() {
        QueuePair queuePair = receiver.readyQueuePair();
        queuePair.close();
        IllegalStateException e = assertThrows(IllegalStateException.class, queuePair::state);
        assertEquals("this QueuePair is closed", e.getMessage());
        assertThrows(IllegalStateException.class, () -> queuePair.postSend(1, 1));
        assertThrows(IllegalStateException.class, () -> queuePair.postReceive(1, 1));
        assertThrows(IllegalStateException.class, () -> flow(queuePair, "all"));
        assertThrows(IllegalStateException.class, queuePair::toError);
        receiver.completionQueue.close();
        assertThrows(IllegalStateException.class, () -> receiver.completionQueue.poll(1, 1));
        assertThrows(IllegalStateException.class, () -> receiver.completionQueue.requestNotification(false));
        receiver.channel.close();
        assertThrows(IllegalStateException.class, receiver.channel::pollEvent);
        receiver.context.close();
        assertThrows(IllegalStateException.class, receiver.context::queryDevice);
        assertThrows(IllegalStateException.class, receiver.context::pollAsyncEvent);
        assertThrows(IllegalStateException.class, receiver.context::allocateProtectionDomain);
    }

    @Test
    void theSameDeviceCanBeOpenedTwice() {
        try (VerbsContext again = VerbsDevices.open(devices.sender())) {
            assertEquals(sender.context.queryDevice(), again.queryDevice());
        }
        assertDoesNotThrow(() -> sender.context.queryPort(sender.context.ownPort()));
    }

    /** Each thread has its own queue pair and flow. All threads share the device. */
    @Test
    void threadsDoNotDisturbEachOther() throws Exception {
        int threads = 4;
        int rounds = 3000;
        AtomicReference<Throwable> failure = new AtomicReference<>();
        List<Thread> running = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            int number = t;
            running.add(Thread.ofPlatform().start(() -> {
                try (Port out = new Port(devices.sender()); Port in = new Port(devices.receiver())) {
                    exchange(out, in, number, rounds);
                } catch (Throwable e) {
                    failure.compareAndSet(null, e);
                }
            }));
        }
        for (Thread thread : running) {
            thread.join();
        }
        if (failure.get() != null) {
            throw new AssertionError("a thread failed", failure.get());
        }
    }

    private static void exchange(Port out, Port in, int number, int rounds) {
        QueuePair sending = out.readyQueuePair();
        QueuePair listening = in.readyQueuePair();
        Flow flow = flow(listening, "udp dst-port " + (2000 + number));
        in.receive(listening, 64);
        for (int i = 0; i < rounds; i++) {
            byte[] frame = Frames.udp4("10.0.0.1", i, "10.0.0.2", 2000 + number);
            out.send(sending, frame);
            assertFrames(List.of(frame), in.awaitFrames(1));
            in.receive(listening, 1);
            if (i % 100 == 0) {
                flow.close();
                flow = flow(listening, "udp dst-port " + (2000 + number));
            }
        }
    }

    /** No frame is lost while another thread adds and removes rules. */
    @Test
    void rulesComeAndGoUnderTraffic() throws Exception {
        QueuePair steady = listener("udp dst-port 3000 priority 4", 64);
        Thread churn = Thread.ofPlatform().unstarted(() -> {
            try (Port port = new Port(devices.receiver())) {
                QueuePair other = port.readyQueuePair();
                while (!Thread.currentThread().isInterrupted()) {
                    List<Flow> flows = new ArrayList<>();
                    for (int i = 0; i < 50; i++) {
                        flows.add(flow(other, "udp dst-port " + (4000 + i) + " priority " + i % 4));
                    }
                    flows.forEach(Flow::close);
                }
            }
        });
        churn.start();
        try {
            QueuePair sending = sender.readyQueuePair();
            for (int i = 0; i < 5000; i++) {
                byte[] frame = Frames.udp4("10.0.0.1", i, "10.0.0.2", 3000);
                sender.send(sending, frame);
                assertFrames(List.of(frame), receiver.awaitFrames(1));
                receiver.receive(steady, 1);
            }
        } finally {
            churn.interrupt();
            churn.join();
        }
    }
}
