package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.channel.settings.MissingDeviceWarning;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullAndEmptySource;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Messages about the device: none is named, it is unusable, and its description in the log. */
@Timeout(60)
class NamedDeviceTest {
    private final List<String> warnings = new CopyOnWriteArrayList<>();
    private final Logger logger = Logger.getLogger(MissingDeviceWarning.class.getName());
    private final Handler capture = new Handler() {
        @Override
        public void publish(LogRecord record) {
            warnings.add(record.getMessage());
        }

        @Override
        public void flush() {
        }

        @Override
        public void close() {
        }
    };

    @BeforeEach
    void listen() {
        logger.addHandler(capture);
    }

    @AfterEach
    void stop() {
        logger.removeHandler(capture);
    }

    private void bind(RdmaRawIoHandlerConfig config, InetAddress address) throws InterruptedException {
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, config);
        try {
            Channel server = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                    .childHandler(new ChannelInboundHandlerAdapter()).bind(address, 0).sync().channel();
            assertTrue(server.toString().endsWith(", " + config.device() + "]"), server.toString());
            new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                    .handler(new ChannelInboundHandlerAdapter()).bind(address, 0).sync();
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /**
     * A server on the default in-memory device starts without errors but only this process reaches it, so a warning
     * says so once.
     */
    @Test
    void defaultInMemoryDeviceIsLoggedOnce() throws Exception {
        bind(RdmaRawIoHandlerConfig.builder().build(), new InetSocketAddress(0).getAddress());
        assertEquals(1, warnings.size(), warnings.toString());
        assertTrue(warnings.getFirst().contains("only this process reaches")
                && warnings.getFirst().contains("device("), warnings.toString());
    }

    @Test
    void chosenInMemoryDeviceCausesNoWarning() throws Exception {
        bind(RdmaRawIoHandlerConfig.builder().device("soft:loop").build(), new InetSocketAddress(0).getAddress());
        bind(RdmaRawIoHandlerConfig.builder().build(), InetAddress.getLoopbackAddress());
        assertEquals(List.of(), warnings);
    }

    @Test
    void availabilityOfDeviceIsReported() {
        assertTrue(RdmaRaw.isAvailable("soft:loop:asked"));
        RdmaRaw.ensureAvailability("soft:loop:asked");
        assertFalse(RdmaRaw.isAvailable("soft:packet:nosuchif0"));
        String cause = RdmaRaw.unavailabilityCause("soft:packet:nosuchif0").getMessage();
        assertTrue(cause.contains("Missing here: there is no network interface nosuchif0"), cause);
        assertEquals(cause, assertThrows(UnsatisfiedLinkError.class,
                () -> RdmaRaw.ensureAvailability("soft:packet:nosuchif0")).getMessage());
    }

    /** The name is missing, for instance because the program lacks a setting. */
    @ParameterizedTest
    @NullAndEmptySource
    void missingDeviceNameIsNotAvailable(String none) {
        assertFalse(RdmaRaw.isAvailable(none));
        String cause = RdmaRaw.unavailabilityCause(none).getMessage();
        assertTrue(cause.startsWith("no device is named: name one"), cause);
        assertEquals(cause, assertThrows(UnsatisfiedLinkError.class,
                () -> RdmaRaw.ensureAvailability(none)).getMessage());
    }

    @Test
    void settingsHaveReadableToString() {
        assertEquals("RdmaRawIoHandlerConfig(device soft:loop by default, spin 5.0 us, queues 256/1024, 2048 slots of"
                + " 4096 bytes, direct verbs AUTO, NIO channels REPORTED)", RdmaRawIoHandlerConfig.builder()
                .spin(5, TimeUnit.MICROSECONDS).receiveQueueDepth(256).slotCount(2048).slotBytes(4096).build()
                .toString());
        String own = RdmaRawIoHandlerConfig.builder().device("soft:xdp:eth0")
                .userspaceAddress("02:00:00:00:00:05", "10.0.0.5/24", null).segmentationOffload(false).build()
                .toString();
        assertTrue(own.startsWith("RdmaRawIoHandlerConfig(device soft:xdp:eth0, host of its own [10.0.0.5/24], ")
                && own.contains("no segmentation offload"), own);
    }
}
