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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The texts of pages that are made from other files agree with them, and the program of raw frames works. */
class ReadmeTest {
    private static final Path SOURCE = Path.of("src/test/java/io/rdmaraw/testsuite/readme/FrameEcho.java");
    private static final Path PAGE = Path.of("../docs/reference/raw-frames.md");
    /** A row such as {@code | linux | 37 | 103 | 62 | 4 | 57 | 0 |}: the first numbers are passed and applicable. */
    private static final Pattern SUITE_RUN =
            Pattern.compile("^\\| \\S+ \\| (\\d+) \\| (\\d+) \\| [\\d |]+$", Pattern.MULTILINE);
    private static final String DEVICE = "soft:loop:readme";

    @Test
    void theProgramIsTheOneInThePage() throws IOException {
        String source = Files.readString(SOURCE);
        String program = between(source, "// readme:begin\n", "// readme:end");
        assertEquals(program, between(Files.readString(PAGE), "```java\n", "```"));
        assertTrue(program.lines().count() <= 45, "it should stay short");
    }

    @Test
    void readmeHasTheTotalsOfTheForeignSuites() throws IOException {
        String page = Files.readString(Path.of("../docs/lab/judges.md"));
        Matcher suite = Pattern.compile("<!-- (\\S+): written by .*?<!-- end of", Pattern.DOTALL).matcher(page);
        List<String> totals = new ArrayList<>();
        while (suite.find()) {
            int passed = 0;
            int applicable = 0;
            Matcher run = SUITE_RUN.matcher(suite.group());
            while (run.find()) {
                passed += Integer.parseInt(run.group(1));
                applicable += Integer.parseInt(run.group(2));
            }
            totals.add(suite.group(1) + ' ' + passed + " of " + applicable);
        }
        assertEquals(String.join(", ", totals),
                between(Files.readString(Path.of("../README.md")), "<!-- ci/judges -->", "<!-- end -->"));
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

    /** The threads of the event loops would keep a program alive that ends with an exception. */
    @Test
    @Timeout(60)
    void programThatCannotOpenItsDeviceEnds(@TempDir Path directory) throws Exception {
        Path output = directory.resolve("output");
        Path silentLog = Files.writeString(directory.resolve("logback.xml"), "<configuration/>");
        Process program = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "-Dlogback.configurationFile=" + silentLog, "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                FrameEcho.class.getName(), "soft:xdp:nosuchif0")
                .redirectErrorStream(true).redirectOutput(output.toFile()).start();
        try {
            assertEquals(1, program.waitFor());
            String said = Files.readString(output);
            assertEquals(1, said.lines().count(), said);
            assertTrue(said.startsWith("cannot open soft:xdp:nosuchif0: "), said);
        } finally {
            program.destroyForcibly().waitFor();
        }
    }

    private static Channel open(RdmaRawEventLoopGroup group, ChannelHandler handler, String flow)
            throws InterruptedException {
        return new Bootstrap().group(group).channel(RdmaRawChannel.class).handler(handler)
                .bind(RdmaRawAddress.of(DEVICE, FlowSpec.parse(flow))).sync().channel();
    }
}
