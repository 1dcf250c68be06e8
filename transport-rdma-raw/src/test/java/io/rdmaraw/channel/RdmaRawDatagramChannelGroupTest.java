package io.rdmaraw.channel;

import io.netty.channel.ChannelOption;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;

import static io.rdmaraw.channel.DatagramFixture.at;
import static io.rdmaraw.channel.DatagramFixture.awaitRounds;
import static io.rdmaraw.channel.DatagramFixture.option;
import static io.rdmaraw.channel.DatagramFixture.text;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

/** Multicast and broadcast datagrams. */
class RdmaRawDatagramChannelGroupTest {
    private static final String GROUP = "239.1.2.3";
    private static final String GROUP_V6 = "ff15::123";

    private final DatagramFixture fixture = new DatagramFixture(2);
    private NetworkInterface loopback;

    @BeforeEach
    void findInterface() throws SocketException {
        loopback = NetworkInterface.getByInetAddress(InetAddress.getLoopbackAddress());
    }

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    private static InetAddress ip(String address) {
        return at(address, 0).getAddress();
    }

    @Test
    void membersReceiveAndOthersDoNot() throws InterruptedException {
        DatagramFixture.Inbox first = fixture.bind(new InetSocketAddress(0), option(ChannelOption.SO_REUSEADDR, true));
        int port = first.address().getPort();
        DatagramFixture.Inbox second = fixture.bind(new InetSocketAddress(port),
                option(ChannelOption.SO_REUSEADDR, true));
        DatagramFixture.Inbox outsider = fixture.bind(new InetSocketAddress(port),
                option(ChannelOption.SO_REUSEADDR, true));
        DatagramFixture.Inbox sender = fixture.bind(new InetSocketAddress(0));
        for (String group : new String[] {GROUP, GROUP_V6}) {
            first.channel.joinGroup(at(group, port), loopback).sync();
            second.channel.joinGroup(ip(group)).sync();
            sender.send("all", at(group, port));
            assertEquals("all", first.takeText());
            assertEquals("all", second.takeText());
            second.channel.leaveGroup(ip(group)).sync();
            sender.send("one", at(group, port));
            assertEquals("one", first.takeText());
        }
        awaitRounds(second);
        awaitRounds(outsider);
        assertEquals(0, second.packets.size());
        assertEquals(0, outsider.packets.size());
    }

    @Test
    void aSourceCanBeChosenOrBlocked() throws InterruptedException {
        DatagramFixture.Inbox receiver = fixture.bind(new InetSocketAddress(0));
        InetSocketAddress group = at(GROUP, receiver.address().getPort());
        DatagramFixture.Inbox wanted = fixture.bind(at("127.0.0.5", 0));
        DatagramFixture.Inbox other = fixture.bind(at("127.0.0.6", 0));
        receiver.channel.joinGroup(group.getAddress(), loopback, ip("127.0.0.5")).sync();
        other.send("other", group);
        wanted.send("wanted", group);
        assertEquals("wanted", receiver.takeText());
        receiver.channel.leaveGroup(group.getAddress(), loopback, ip("127.0.0.5")).sync();
        receiver.channel.joinGroup(group.getAddress()).sync();
        other.send("any source", group);
        assertEquals("any source", receiver.takeText());
        receiver.channel.block(group.getAddress(), ip("127.0.0.6")).sync();
        other.send("blocked", group);
        wanted.send("not blocked", group);
        assertEquals("not blocked", receiver.takeText());
        assertEquals(2, receiver.channel.statistics().droppedNotForChannel());
    }

    @Test
    void membershipErrorsFailThePromise() throws InterruptedException {
        DatagramFixture.Inbox channel = fixture.bind(new InetSocketAddress(0));
        assertInstanceOf(IllegalArgumentException.class, channel.channel.joinGroup(ip("127.0.0.1")).await().cause());
        assertInstanceOf(IllegalArgumentException.class,
                channel.channel.block(ip(GROUP), ip("127.0.0.1")).await().cause());
    }

    @Test
    void datagramsToGroupsCanStayOffThisHost() throws InterruptedException {
        DatagramFixture.Inbox receiver = fixture.bind(new InetSocketAddress(0));
        receiver.channel.joinGroup(ip(GROUP)).sync();
        InetSocketAddress group = at(GROUP, receiver.address().getPort());
        DatagramFixture.Inbox sender = fixture.bind(new InetSocketAddress(0),
                option(ChannelOption.IP_MULTICAST_LOOP_DISABLED, true));
        sender.send("not for this host", group);
        sender.channel.config().setLoopbackModeDisabled(false);
        sender.send("for this host", group);
        assertEquals("for this host", receiver.takeText());
    }

    @Test
    void longDatagramsToGroupsArriveToo() throws InterruptedException {
        DatagramFixture.Inbox receiver = fixture.bind(new InetSocketAddress(0));
        receiver.channel.joinGroup(ip(GROUP)).sync();
        DatagramFixture.Inbox sender = fixture.bind(new InetSocketAddress(0));
        String longText = "0123456789".repeat(500);
        sender.send(longText, at(GROUP, receiver.address().getPort()));
        assertEquals(longText, receiver.takeText());
    }

    @Test
    void broadcastNeedsPermissionAndReachesWildcards() throws InterruptedException {
        DatagramFixture.Inbox receiver = fixture.bind(new InetSocketAddress(0),
                option(ChannelOption.SO_REUSEADDR, true));
        int port = receiver.address().getPort();
        DatagramFixture.Inbox bound = fixture.bind(at("127.0.0.1", port), option(ChannelOption.SO_REUSEADDR, true));
        DatagramFixture.Inbox sender = fixture.bind(new InetSocketAddress(0));
        InetSocketAddress everyone = at("255.255.255.255", port);
        assertInstanceOf(SocketException.class, sender.channel.writeAndFlush(
                new io.netty.channel.socket.DatagramPacket(text("refused"), everyone)).await().cause());
        sender.channel.config().setBroadcast(true);
        sender.send("everyone", everyone);
        assertEquals("everyone", receiver.takeText());
        awaitRounds(bound);
        assertEquals(0, bound.packets.size());
    }
}
