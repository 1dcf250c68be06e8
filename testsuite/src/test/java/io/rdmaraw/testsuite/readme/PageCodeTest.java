package io.rdmaraw.testsuite.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The Java code of pages compiles, so that readers can copy it. */
class PageCodeTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern BLOCK = Pattern.compile("^```java\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE);
    /** Programs of which pages show a part. */
    private static final List<String> PROGRAMS = List.of("examples/quickstart/src/main/java/HelloServer.java",
            "testsuite/src/test/java/io/rdmaraw/testsuite/readme/FrameEcho.java");
    private static final String IMPORTS = """
            import io.netty.bootstrap.*;
            import io.netty.channel.*;
            import io.rdmaraw.channel.*;
            import io.rdmaraw.tcp.*;
            import io.rdmaraw.tcp.segment.*;
            import io.rdmaraw.testsuite.net.*;
            import io.rdmaraw.testsuite.script.Script;
            import io.rdmaraw.testsuite.sim.Impairment;
            import io.rdmaraw.wire.*;
            import java.nio.file.Path;
            import java.security.SecureRandom;
            import java.time.Duration;
            import java.util.concurrent.*;
            """;
    /** The members that the code of a page uses and the page does not declare. */
    private static final Map<String, String> MEMBERS = Map.of(
            "docs/design/simulation.md", "TestNetwork network; long seed;",
            "docs/design/tcp.md", """
                    TcpEvents events; long now; Segment segment; Segment out; IcmpErrorKind error;
                    long localHigh; long localLow; int localPort; long remoteHigh; long remoteLow; int remotePort;
                    int seq; int mtu;
                    void send(Segment segment) { }
                    void sleepUntil(long nanos) { }
                    """,
            "docs/guide/deploying.md", "EventLoopGroup group;",
            "docs/guide/quickstart.md", "ServerBootstrap serverBootstrap; Bootstrap clientBootstrap;",
            "docs/guide/upgrades.md", "ServerBootstrap bootstrap; boolean draining;");
    /** Pages whose code needs a library that this module lacks. */
    private static final Map<String, String> LEFT_OUT =
            Map.of("docs/guide/monitoring.md", "Prometheus' registry of Micrometer");

    static Stream<String> pages() throws IOException {
        try (Stream<Path> files = Files.walk(ROOT.resolve("docs"))) {
            return files.filter(file -> file.toString().endsWith(".md"))
                    .map(file -> ROOT.relativize(file).toString()).sorted().toList().stream()
                    .filter(page -> !LEFT_OUT.containsKey(page) && BLOCK.matcher(read(page)).find());
        }
    }

    private static String read(String page) {
        try {
            return Files.readString(ROOT.resolve(page));
        } catch (IOException e) {
            throw new AssertionError(page, e);
        }
    }

    /** Returns a class that has the blocks of a page as methods. */
    private static String program(String page) {
        StringBuilder program = new StringBuilder(IMPORTS).append("class Page {\n")
                .append(MEMBERS.getOrDefault(page, ""));
        List<String> blocks = new ArrayList<>(BLOCK.matcher(read(page)).results()
                .map((MatchResult block) -> block.group(1)).toList());
        blocks.removeIf(block -> PROGRAMS.stream().anyMatch(other -> read(other).contains(block)));
        for (int i = 0; i < blocks.size(); i++) {
            program.append("void block").append(i).append("() throws Exception {\n").append(blocks.get(i))
                    .append("}\n");
        }
        return program.append("}\n").toString();
    }

    /** Returns the messages of the compiler; empty if the program compiles. */
    private static String compile(Path directory, String program) throws IOException {
        Path file = Files.writeString(directory.resolve("Page.java"), program);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StringWriter messages = new StringWriter();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            boolean isDone = compiler.getTask(messages, files, null, List.of("-d", directory.toString(), "-nowarn",
                    "-proc:none", "-cp", System.getProperty("java.class.path")), null, files.getJavaFileObjects(file))
                    .call();
            return isDone ? "" : "does not compile: " + messages;
        }
    }

    @ParameterizedTest
    @MethodSource("pages")
    void codeOfPageCompiles(String page, @TempDir Path directory) throws IOException {
        assertEquals("", compile(directory, program(page)), page);
    }

    @Test
    void renamedMethodIsFound(@TempDir Path directory) throws IOException {
        String program = program("docs/guide/upgrades.md");
        assertTrue(program.contains("takeover.awaitDrained("), program);
        String messages = compile(directory, program.replace("takeover.awaitDrained(", "takeover.awaitEmpty("));
        assertTrue(messages.contains("awaitEmpty"), messages);
    }

    @Test
    void eachEntryHasPageWithCode() {
        assertTrue(Stream.of(MEMBERS, LEFT_OUT).flatMap(map -> map.keySet().stream())
                .allMatch(page -> BLOCK.matcher(read(page)).find()));
    }
}
