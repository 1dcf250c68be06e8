package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Without a usable device, {@code RdmaRawOrKernel} falls back to a transport of Netty and logs it. */
@Timeout(120)
class RdmaRawOrKernelTest {
    private static final RdmaRawIoHandlerConfig MISSING =
            RdmaRawIoHandlerConfig.builder().device("soft:packet:nosuchif0").build();

    private static List<String> warnings(Runnable action) {
        try (WarningsOf warnings = new WarningsOf(RdmaRawOrKernel.class)) {
            action.run();
            return warnings.messages();
        }
    }

    /** Connects to a server and returns the class of the accepted channel. */
    private static Class<?> connectAndAccept(RdmaRawOrKernel transport) throws InterruptedException {
        IoEventLoopGroup group = transport.newGroup(1);
        try {
            AtomicReference<Class<?>> accepted = new AtomicReference<>();
            CountDownLatch active = new CountDownLatch(1);
            Channel server = new ServerBootstrap().group(group).channel(transport.serverSocketChannel())
                    .childHandler(new ChannelInboundHandlerAdapter() {
                        @Override
                        public void channelActive(ChannelHandlerContext ctx) {
                            accepted.set(ctx.channel().getClass());
                            active.countDown();
                        }
                    }).bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            new Bootstrap().group(group).channel(transport.socketChannel()).handler(new ChannelInboundHandlerAdapter())
                    .connect(server.localAddress()).sync();
            active.await();
            new Bootstrap().group(group).channel(transport.datagramChannel())
                    .handler(new ChannelInboundHandlerAdapter()).bind(InetAddress.getLoopbackAddress(), 0).sync();
            return accepted.get();
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void usableDeviceIsChosenWithoutWarning() throws Exception {
        AtomicReference<RdmaRawOrKernel> chosen = new AtomicReference<>();
        assertEquals(List.of(), warnings(() -> chosen.set(RdmaRawOrKernel.choose(
                RdmaRawIoHandlerConfig.builder().device("soft:loop:chosen").build()))));
        assertTrue(chosen.get().isRdmaRaw());
        assertNull(chosen.get().unavailabilityCause());
        assertEquals(RdmaRawSocketChannel.class, connectAndAccept(chosen.get()));
    }

    @Test
    void unusableDeviceFallsBackToEpollWithOneWarning() throws Exception {
        AtomicReference<RdmaRawOrKernel> chosen = new AtomicReference<>();
        List<String> warnings = warnings(() -> chosen.set(RdmaRawOrKernel.choose(MISSING)));
        assertFalse(chosen.get().isRdmaRaw());
        assertEquals(EpollServerSocketChannel.class, chosen.get().serverSocketChannel());
        assertEquals(EpollDatagramChannel.class, chosen.get().datagramChannel());
        assertEquals(List.of(), warnings(() -> assertEquals(chosen.get().socketChannel(),
                connectUnchecked(chosen.get()))));
        assertEquals(1, warnings.size(), warnings.toString());
        assertTrue(warnings.getFirst().startsWith("Netty's epoll transport serves in place of the device"
                + " soft:packet:nosuchif0, so the kernel carries all channels: "), warnings.toString());
        assertTrue(warnings.getFirst().contains(chosen.get().unavailabilityCause().getMessage()), warnings.toString());
    }

    private static Class<?> connectUnchecked(RdmaRawOrKernel transport) {
        try {
            return connectAndAccept(transport);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Prints the chosen transport. Runs in a separate JVM. */
    static final class Chooser {
        public static void main(String[] args) throws Exception {
            RdmaRawOrKernel chosen = RdmaRawOrKernel.choose(MISSING);
            Class<?> accepted = connectAndAccept(chosen);
            System.out.println("chosen: " + chosen.serverSocketChannel().getName() + " "
                    + chosen.datagramChannel().getName() + " " + accepted.equals(chosen.socketChannel()));
        }
    }

    private static String chosen(String classPath) throws Exception {
        List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED", "-cp", classPath, Chooser.class.getName()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes());
        assertEquals(0, process.waitFor(), output);
        return output.lines().filter(line -> line.startsWith("chosen: ")).collect(Collectors.joining());
    }

    private static String classPathWithout(String part) {
        return Stream.of(System.getProperty("java.class.path").split(":")).filter(entry -> !entry.contains(part))
                .collect(Collectors.joining(":"));
    }

    /** Neither the jar of the epoll classes nor that of the native library is a required dependency. */
    @Test
    void fallsBackToNioWithoutEpoll() throws Exception {
        String nio = "chosen: " + NioServerSocketChannel.class.getName() + " " + NioDatagramChannel.class.getName()
                + " true";
        assertEquals(nio, chosen(classPathWithout("epoll")));
        assertEquals(nio, chosen(classPathWithout("native-epoll")));
    }
}
