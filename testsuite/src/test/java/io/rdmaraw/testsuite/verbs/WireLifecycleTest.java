package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.PacketPort;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethEnd;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.objects.AsyncEvent;
import io.rdmaraw.verbs.objects.AsyncEventType;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.wire.EthernetHeader;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.PortUnreachableException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Devices on network interfaces: event notification, ownership, and interfaces that are unusable or disappear. */
@WithTestNetwork
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WireLifecycleTest {
    private static final int FRAME_BYTES = 2048;
    private static final long LIMIT_NANOS = Await.PATIENCE.toNanos();
    private static final int OUR_PORT = 7777;

    private static String device(String kind, VethEnd end) {
        return "soft:" + kind + ':' + end.name();
    }

    private static QueuePair listener(Port port, VethEnd end, int receives) {
        QueuePair queuePair = port.readyQueuePair();
        port.receive(queuePair, receives);
        ProviderConformance.flow(queuePair, "dst " + end.ipv4() + " udp dst-port " + OUR_PORT);
        return queuePair;
    }

    /** Sends a datagram from the peer's kernel. */
    private static void sendOne(VethPair pair) throws Exception {
        pair.peer().namespace().call(() -> {
            try (DatagramSocket socket = new DatagramSocket()) {
                socket.send(new DatagramPacket(new byte[10], 10, InetAddress.getByName(pair.ours().ipv4()), OUR_PORT));
            }
            return null;
        });
    }

    /**
     * Returns whether the kernel replies to a datagram to our port with an ICMP error because no socket is bound to it.
     */
    private static boolean kernelAnswers(VethPair pair) {
        try (DatagramSocket socket = pair.peer().namespace().call(() -> new DatagramSocket())) {
            socket.connect(InetAddress.getByName(pair.ours().ipv4()), OUR_PORT);
            socket.setSoTimeout(300);
            socket.send(new DatagramPacket(new byte[10], 10));
            socket.receive(new DatagramPacket(new byte[10], 10));
            return false;
        } catch (PortUnreachableException answered) {
            return true;
        } catch (java.net.SocketTimeoutException silent) {
            return false;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Waits for a reply of the kernel, which a busy machine may send late. */
    private static void awaitAnswer(VethPair pair, String when) {
        Await.until("the kernel to answer " + when, () -> kernelAnswers(pair));
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void anArmedQueueWakesItsSleeper(String kind, TestNetwork network) throws Exception {
        VethPair pair = network.vethPair();
        try (Port port = new Port(device(kind, pair.ours())); FdWaiter waiter = new FdWaiter(port.channel.fd())) {
            QueuePair queuePair = listener(port, pair.ours(), 8);
            for (int i = 0; i < 50; i++) {
                port.completionQueue.requestNotification(false);
                assertTrue(port.poll().isEmpty());
                sendOne(pair);
                assertEquals(1, waiter.await(LIMIT_NANOS), "slept over frame " + i);
                assertTrue(port.channel.pollEvent());
                assertEquals(52, port.await().byteLength());
                port.receive(queuePair, 1);
            }
            // The queue is not armed: frames cause no event and stay queued.
            sendOne(pair);
            assertEquals(52, port.await().byteLength());
            assertFalse(port.channel.pollEvent());
        }
    }

    /**
     * Returns the number of packet sockets that receive every frame of our interface. Those of other processes that are
     * bound to no interface do not count.
     */
    private static long watchers(VethPair pair) throws IOException {
        String link = Integer.toString(pair.ours().index());
        Set<String> ours = ourSockets();
        return pair.ours().namespace().run("cat", "/proc/net/packet").output().lines()
                .map(line -> line.strip().split("\\s+"))
                .filter(words -> words[3].equals("0003")
                        && (words[4].equals(link) || words[4].equals("0") && ours.contains(words[8]))).count();
    }

    /** Returns the inodes of this process' sockets. */
    private static Set<String> ourSockets() throws IOException {
        Set<String> inodes = new HashSet<>();
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors) {
                try {
                    String target = Files.readSymbolicLink(descriptor).toString();
                    if (target.startsWith("socket:[")) {
                        inodes.add(target.substring("socket:[".length(), target.length() - 1));
                    }
                } catch (NoSuchFileException e) {
                    continue;       // closed by another thread
                }
            }
        }
        return inodes;
    }

    @Test
    void framesOfTheKernelAreLookedAtOnceMoreOnlyWhenARuleWantsCopies(TestNetwork network) throws Exception {
        VethPair pair = network.vethPair();
        long before = watchers(pair);
        try (Port port = new Port(device("xdp", pair.ours()))) {
            QueuePair queuePair = listener(port, pair.ours(), 8);
            assertEquals(before, watchers(pair));
            ProviderConformance.flow(queuePair, "dst " + pair.ours().ipv4() + " udp dst-port 7778 dont-trap");
            assertEquals(before + 1, watchers(pair));
        }
        assertEquals(before, watchers(pair));
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void theKernelDoesNotAnswerForUsAndDoesAgainAfterwards(String kind, TestNetwork network) throws Exception {
        VethPair pair = network.vethPair();
        awaitAnswer(pair, "without a device");
        try (Port port = new Port(device(kind, pair.ours()))) {
            awaitAnswer(pair, "without a rule");
            QueuePair queuePair = listener(port, pair.ours(), 8);
            assertFalse(kernelAnswers(pair));
            assertEquals(52, port.await().byteLength());
            queuePair.close();
            awaitAnswer(pair, "after the rule was removed");
        }
        awaitAnswer(pair, "after the device was closed");
    }

    /** The process that {@link #killedOwnersLeaveNothing} kills. */
    static final class Owner {
        private Owner() {
        }

        public static void main(String[] arguments) throws InterruptedException {
            Port port = new Port(arguments[0]);
            QueuePair queuePair = port.readyQueuePair();
            ProviderConformance.flow(queuePair, arguments[1]);
            System.out.println("ready");
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void killedOwnersLeaveNothing(String kind, TestNetwork network) throws Exception {
        VethPair pair = network.vethPair();
        String device = device(kind, pair.ours());
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        try (PeerProcess owner = network.current().start(ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED", "-cp", classPath, Owner.class.getName(), device,
                "dst " + pair.ours().ipv4() + " udp dst-port " + OUR_PORT)) {
            owner.awaitOutput("ready", Await.PATIENCE);
            if (kind.equals("xdp")) {
                VerbsException busy = assertThrows(VerbsException.class, () -> new Port(device));
                assertEquals(Errno.EBUSY, busy.errno());
                assertTrue(busy.getMessage().contains("'" + pair.ours().name() + "' is in use (process "),
                        busy.getMessage());
            }
            assertFalse(kernelAnswers(pair));
            ProcessHandle.of(owner.pid()).orElseThrow().destroyForcibly();
            owner.await(Await.PATIENCE);
            try (Port port = new Port(device)) {
                listener(port, pair.ours(), 4);
                sendOne(pair);
                assertEquals(52, port.await().byteLength());
            }
            awaitAnswer(pair, "after the device was closed");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void interfacesThatCannotBeUsedAreExplained(String kind, TestNetwork network) {
        assertOpenFails(kind, "rr-none", Errno.ENODEV, "there is no network interface 'rr-none'");
        VethEnd end = network.vethPair().ours();
        end.setMtu(60_000);
        assertOpenFails(kind, end.name(), Errno.EMSGSIZE, "ip link set dev " + end.name() + " mtu");
        end.setMtu(1500);
        end.down();
        assertOpenFails(kind, end.name(), Errno.ENETDOWN, "ip link set dev " + end.name() + " up");
        end.up();
        new Port(device(kind, end)).close();
        VerbsException e = assertThrows(VerbsException.class,
                () -> new Port("soft:" + kind + ":a-name-that-is-too-long"));
        assertEquals(Errno.ENODEV, e.errno());
    }

    private static void assertOpenFails(String kind, String netdev, int errno, String text) {
        VerbsException e = assertThrows(VerbsException.class, () -> new Port("soft:" + kind + ':' + netdev));
        assertEquals(errno, e.errno(), e.getMessage());
        assertTrue(e.getMessage().contains(text), e.getMessage());
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void anInterfaceThatGoesDownAndUpIsFollowed(String kind, TestNetwork network) throws Exception {
        VethPair pair = network.vethPair();
        try (Port port = new Port(device(kind, pair.ours()))) {
            listener(port, pair.ours(), 4);
            pair.ours().down();
            assertEquals(1, awaitEvent(port, AsyncEventType.PORT_ERR).port());
            assertFalse(port.context.queryPort(1).isActive());
            QueuePair sending = port.readyQueuePair();
            port.send(sending, Frames.raw(pair.peer().mac(), pair.ours().mac(), Frames.ETHER_TYPE, 60));
            assertEquals(1, SoftverbsFaults.of(port.context).sent(sending).portDown());
            pair.ours().up();
            awaitEvent(port, AsyncEventType.PORT_ACTIVE);
            pair.peer().awaitCarrier();
            sendOne(pair);
            assertEquals(52, port.await().byteLength());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void anInterfaceThatIsRemovedIsAFatalEvent(String kind, TestNetwork network) {
        VethPair pair = network.vethPair();
        try (Port port = new Port(device(kind, pair.ours()))) {
            QueuePair queuePair = listener(port, pair.ours(), 3);
            pair.ours().remove();
            awaitEvent(port, AsyncEventType.DEVICE_FATAL);
            port.await(3).forEach(c -> assertEquals(WcStatus.WR_FLUSH_ERR, c.status()));
            assertEquals(Errno.EIO, assertThrows(VerbsException.class, queuePair::toReset).errno());
        }
    }

    /** A frame to an address in the device's own rules is delivered inside the port. No switch has to return it. */
    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void framesToTheSameDeviceDoNotLeaveIt(String kind, TestNetwork network) {
        VethPair pair = network.vethPair();
        try (Port port = new Port(device(kind, pair.ours())); PacketPort wire = PacketPort.open(pair.peer())) {
            QueuePair queuePair = port.readyQueuePair();
            port.receive(queuePair, 4);
            ProviderConformance.flow(queuePair, "dst-mac 02:00:00:00:07:07 ether-type 0x88b5");
            QueuePair sending = port.readyQueuePair();
            port.send(sending, Frames.raw("02:00:00:00:07:07", pair.ours().mac(), Frames.ETHER_TYPE, 60));
            assertEquals(60, port.await().byteLength());
            port.send(sending, Frames.raw(pair.peer().mac(), pair.ours().mac(), Frames.ETHER_TYPE, 60));
            assertEquals(pair.peer().mac(), targetOfFirstFrame(wire), "the other frame is the first on the wire");
        }
    }

    /**
     * Returns the destination of the first frame with the tests' EtherType. The kernel also sends frames on this link.
     */
    private static String targetOfFirstFrame(PacketPort wire) {
        long frame = Libc.allocateZeroed(FRAME_BYTES);
        try (FdWaiter waiter = new FdWaiter(wire.fd())) {
            wire.receiveInto(0, frame, FRAME_BYTES);
            do {
                assertEquals(1, waiter.await(LIMIT_NANOS), "no frame on the wire");
            } while (wire.receive(1) != 1 || EthernetHeader.etherType(frame) != Frames.ETHER_TYPE);
            return String.format("%012x", EthernetHeader.destination(frame)).replaceAll("..(?!$)", "$0:");
        } finally {
            Libc.free(frame);
        }
    }

    private static AsyncEvent awaitEvent(Port port, AsyncEventType type) {
        try (FdWaiter waiter = new FdWaiter(port.context.asyncFd())) {
            while (true) {
                AsyncEvent event = port.context.pollAsyncEvent();
                if (event != null && event.type() == type) {
                    return event;
                }
                if (event == null) {
                    assertEquals(1, waiter.await(LIMIT_NANOS), "no event " + type);
                }
            }
        }
    }
}
