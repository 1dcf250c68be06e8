package io.rdmaraw.testsuite.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.rdmaraw.channel.RdmaRawAddress;
import io.rdmaraw.channel.RdmaRawChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The program in docs/reference/raw-frames.md is identical to the compiled one, and it works. */
class ReadmeTest {
    private static final Path SOURCE = Path.of("src/test/java/io/rdmaraw/testsuite/readme/FrameEcho.java");
    private static final Path PAGE = Path.of("../docs/reference/raw-frames.md");
    private static final String DEVICE = "soft:loop:readme";

    @Test
    void theProgramIsTheOneInThePage() throws IOException {
        String source = Files.readString(SOURCE);
        String program = between(source, "// readme:begin\n", "// readme:end");
        assertEquals(program, between(Files.readString(PAGE), "```java\n", "```"));
        assertTrue(program.lines().count() <= 45, "it should stay short");
    }

    private static String between(String text, String begin, String end) {
        int start = text.indexOf(begin) + begin.length();
        return text.substring(start, text.indexOf(end, start));
    }

    @Test
    @Timeout(60)
    void theProgramEchoes() throws Exception {
        BlockingQueue<String> received = new LinkedBlockingQueue<>();
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(2);
        try {
            // The source MAC addresses in the rules separate the two directions: the echo receives our frames, we
            // receive its.
            open(group, new FrameEcho(), "src-mac 02:00:00:00:00:01 ether-type 0x88b5");
            Channel ours = open(group, new SimpleChannelInboundHandler<ByteBuf>() {
                @Override
                protected void channelRead0(ChannelHandlerContext ctx, ByteBuf frame) {
                    received.add(ByteBufUtil.hexDump(frame, 0, 16));
                }
            }, "src-mac 02:00:00:00:00:02 ether-type 0x88b5");
            ByteBuf frame = Unpooled.wrappedBuffer(
                    ByteBufUtil.decodeHexDump("020000000002" + "020000000001" + "88b5" + "cafe"));
            ours.writeAndFlush(frame).sync();
            assertEquals("020000000001" + "020000000002" + "88b5" + "cafe", received.poll(30, TimeUnit.SECONDS));
        } finally {
            group.shutdownGracefully(0, 5, TimeUnit.SECONDS).sync();
        }
    }

    private static Channel open(RdmaRawEventLoopGroup group, ChannelHandler handler, String flow)
            throws InterruptedException {
        return new Bootstrap().group(group).channel(RdmaRawChannel.class).handler(handler)
                .bind(RdmaRawAddress.of(DEVICE, FlowSpec.parse(flow))).sync().channel();
    }
}
