package io.rdmaraw.testsuite.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@WithTestNetwork
class TestNetworkTest {
    @Test
    void theEndsReachEachOther(TestNetwork network) {
        VethPair pair = network.vethPair();
        network.current().run("ping", "-c", "1", "-W", "5", pair.peer().ipv4());
        pair.peer().namespace().run("ping", "-c", "1", "-W", "5", pair.ours().ipv4());
        network.current().run("ping", "-6", "-c", "1", "-W", "5", pair.peer().ipv6());
        assertTrue(pair.peer().counter("rx_packets") > 0);
    }

    @Test
    void pairsAndTheirAddressesAreTheirOwn(TestNetwork network) throws Exception {
        VethPair first = network.vethPair();
        VethPair second = network.vethPair(network.namespace(), network.namespace());
        assertNotEquals(first.ours().mac(), second.ours().mac());
        assertNotEquals(first.ours().mac(), first.peer().mac());
        assertNotEquals(first.ours().ipv4(), second.ours().ipv4());
        assertTrue(NetworkInterface.getByName(first.ours().name()) != null);
        assertTrue(NetworkInterface.getByName(second.ours().name()) == null, "both ends are in namespaces");
        second.ours().namespace().run("ping", "-c", "1", "-W", "5", second.peer().ipv4());
    }

    /** Pairs keep the kernel's default offloads, as in every container. */
    @Test
    void pairsAreAsTheKernelMakesThem(TestNetwork network) {
        VethPair pair = network.vethPair();
        String features = pair.peer().namespace().run("ethtool", "-k", pair.peer().name()).output();
        for (String feature : new String[] {"tx-checksumming", "tcp-segmentation-offload"}) {
            assertTrue(features.contains(feature + ": on"), feature + " in " + features);
        }
    }

    @Test
    void offloadsAreOffWhereATestWantsThat(TestNetwork network) {
        VethPair pair = network.offloads(Offloads.OFF).vethPair();
        String features = pair.peer().namespace().run("ethtool", "-k", pair.peer().name()).output();
        for (String feature : new String[] {"tx-checksumming", "tcp-segmentation-offload",
            "generic-segmentation-offload", "generic-receive-offload", "tx-vlan-offload"}) {
            assertTrue(features.contains(feature + ": off"), feature + " in " + features);
        }
    }

    @Test
    void threadsLiveInTheNamespace(TestNetwork network) throws Exception {
        VethPair pair = network.vethPair(network.namespace(), network.namespace());
        try (DatagramChannel ours = pair.ours().namespace().call(DatagramChannel::open);
                DatagramChannel peer = pair.peer().namespace().call(DatagramChannel::open)) {
            peer.bind(new InetSocketAddress(InetAddress.ofLiteral(pair.peer().ipv4()), 7777));
            ours.send(ByteBuffer.wrap("hello".getBytes()), peer.getLocalAddress());
            ByteBuffer received = ByteBuffer.allocate(16);
            peer.receive(received);
            assertEquals("hello", new String(received.array(), 0, received.position()));
        }
        assertThrows(IllegalStateException.class, () -> pair.peer().namespace().call(() -> {
            throw new IllegalStateException("from inside");
        }));
    }

    @Test
    void everythingIsRemoved(@TempDir Path captures) {
        TestNetwork network = new TestNetwork("removal", captures);
        VethPair pair = network.vethPair();
        PeerProcess peer = pair.peer().namespace().start("sleep", "1000");
        assertTrue(peer.isAlive());
        network.close();
        assertFalse(peer.isAlive());
        assertFalse(NetworkNamespace.list().contains(pair.peer().namespace().name()));
        assertNotEquals(0, Ip.attempt("link", "show", "dev", pair.ours().name()).exitCode());
        network.close();
    }

    @Test
    void capturesShowTheFrames(TestNetwork network) {
        VethPair pair = network.vethPair();
        PacketCapture capture = network.capture(pair.ours());
        network.current().run("ping", "-c", "1", "-W", "5", "-p", "72646d61", pair.peer().ipv4());
        Await.until("the ping in " + capture.file(), () -> network.current()
                .run("tcpdump", "-n", "-r", capture.file().toString()).output().contains("ICMP echo reply"));
        capture.close();
        assertFalse(Files.exists(capture.file()), "a capture of a test that passes is removed");
    }

    @Test
    void programsThatFailSayHow(TestNetwork network) {
        NetworkNamespace namespace = network.namespace();
        IllegalStateException e = assertThrows(IllegalStateException.class,
                () -> namespace.run("sh", "-c", "echo out; echo because >&2; exit 3"));
        assertTrue(e.getMessage().contains("ended with 3") && e.getMessage().contains("because"), e.getMessage());
        PeerProcess early = namespace.start("sh", "-c", "echo one");
        AssertionError missing = assertThrows(AssertionError.class, () -> early.awaitOutput("two", Await.PATIENCE));
        assertTrue(missing.getMessage().contains("before it printed"), missing.getMessage());
    }

    @Test
    void processesTalk(TestNetwork network) {
        PeerProcess cat = network.namespace().start("cat");
        cat.send("to and fro\n");
        cat.awaitOutput("to and fro", Await.PATIENCE);
    }
}
