package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.IoEventLoopGroup;
import io.rdmaraw.device.DeviceQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

import static org.junit.jupiter.api.Assertions.assertTrue;

/** If a server drops all packets of its peers, a warning names the reason and the remedy. */
@Timeout(60)
class DropWarningTest {
    /** A datagram from 10.15.0.2 to port 7 of 10.15.0.1 with a wrong UDP checksum. */
    private static final byte[] DAMAGED = HexFormat.of().parseHex("0200000f00010200000f00020800"
            + "4500001e000100004011" + "66ae" + "0a0f00020a0f0001" + "07d00007000a0bad" + "6869");

    private final LoopDevice device = LoopDevice.inMemory();
    private final List<String> warnings = new CopyOnWriteArrayList<>();
    private final Logger logger = Logger.getLogger(DeviceQueue.class.getName());
    private final Handler capture = new Handler() {
        @Override
        public void publish(LogRecord record) {
            if (record.getLevel().intValue() >= Level.WARNING.intValue() && record.getMessage().contains(device.name)) {
                warnings.add(record.getMessage());
            }
        }

        @Override
        public void flush() {
        }

        @Override
        public void close() {
        }
    };
    private IoEventLoopGroup host;
    private RdmaRawChannel sender;

    @BeforeEach
    void open() throws InterruptedException {
        logger.addHandler(capture);
        host = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder().device(device.name)
                .userspaceAddress("02:00:00:0f:00:01", "10.15.0.1/24", "10.15.0.2")
                .detectDuplicateAddresses(false).build());
        new Bootstrap().group(host).channel(RdmaRawDatagramChannel.class).handler(new ChannelInboundHandlerAdapter())
                .bind(new InetSocketAddress("10.15.0.1", 7)).sync();
        sender = device.bind(host, device.sendOnly(), new ChannelInboundHandlerAdapter());
    }

    @AfterEach
    void close() {
        host.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
        logger.removeHandler(capture);
    }

    private void sendDamaged() throws InterruptedException {
        ByteBuf frame = sender.alloc().buffer(DAMAGED.length).writeBytes(DAMAGED);
        sender.writeAndFlush(frame).sync();
    }

    @Test
    void seriesOfDropsIsLoggedWithRemedy() throws InterruptedException {
        // On a busy machine the receiver may also fall behind, which is logged too.
        Optional<String> told;
        while ((told = warnings.stream().filter(line -> line.contains("bad-checksum")).findFirst()).isEmpty()) {
            sendDamaged();
        }
        assertTrue(told.get().contains("ethtool -K"), told.get());
    }
}
