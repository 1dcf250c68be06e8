package io.rdmaraw.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import com.tngtech.archunit.core.domain.JavaClasses;
import java.io.PrintWriter;
import java.lang.foreign.Linker;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/**
 * A native image contains only the classes and calls in the metadata of the jar. GraalVM itself is not run: the
 * test checks that the file matches the classes, and that channels in use link no other calls.
 * {@code -Drdmaraw.golden=write} writes the file.
 */
@Timeout(240)
class NativeImageMetadataTest {
    private static final Path FILE = Path.of("src", "main", "resources", "META-INF", "native-image", "io.rdmaraw",
            "netty-transport-rdma-raw", "reachability-metadata.json");
    private static final String LINKED = "linked: ";
    /**
     * Downcalls of Netty for {@code malloc} and {@code free}, used without Unsafe
     * ({@code CleanerJava24Linker}).
     */
    private static final Set<String> OF_NETTY = Set.of("{\"returnType\": \"jlong\", \"parameterTypes\": [\"jlong\"]}",
            "{\"returnType\": \"void\", \"parameterTypes\": [\"jlong\"]}");

    /** Runs channel tests and prints the linked downcalls. */
    static final class Traced {
        public static void main(String[] args) throws Exception {
            LauncherDiscoveryRequest channels = LauncherDiscoveryRequestBuilder.request()
                    .selectors(Stream.of("RdmaRawChannelTest", "RdmaRawDatagramChannelTest", "RdmaRawSocketChannelTest")
                            .map(name -> selectClass("io.rdmaraw.channel." + name)).toList()).build();
            SummaryGeneratingListener summary = new SummaryGeneratingListener();
            LauncherFactory.create().execute(channels, summary);
            summary.getSummary().printFailuresTo(new PrintWriter(System.out, true));
            if (summary.getSummary().getTestsSucceededCount() == 0 || summary.getSummary().getTotalFailureCount() > 0) {
                System.exit(1);
            }
            if (!NativeImageMetadata.linkedUpcalls().isEmpty()) {
                throw new AssertionError("upcalls: " + NativeImageMetadata.linkedUpcalls());
            }
            NativeImageMetadata.linkedDowncalls().forEach(call -> System.out.println(LINKED + call));
            System.exit(0);
        }
    }

    private static String run(Class<?> main, String... options) throws Exception {
        List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path")));
        command.addAll(List.of(options));
        command.add(main.getName());
        // The log of the channel tests matters only if one of them fails.
        Path log = Path.of("target", main.getSimpleName() + ".log");
        Process process = new ProcessBuilder(command).redirectError(log.toFile()).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), () -> output + "\n" + log.toAbsolutePath());
        return output;
    }

    @Test
    void fileMatchesTheClasses() throws Exception {
        String generated = run(NativeImageMetadata.class, NativeImageMetadata.ALL_HANDLES);
        if ("write".equals(System.getProperty("rdmaraw.golden"))) {
            Files.createDirectories(FILE.getParent());
            Files.writeString(FILE, generated);
        }
        assertEquals(generated, Files.readString(FILE),
                "./rdma-raw test NativeImageMetadataTest -Drdmaraw.golden=write");
    }

    @Test
    @Tag("slow")
    void channelsLinkOnlyListedCalls() throws Exception {
        String file = Files.readString(FILE);
        List<String> linked = run(Traced.class, "--add-opens=java.base/jdk.internal.foreign.abi=ALL-UNNAMED").lines()
                .filter(line -> line.startsWith(LINKED)).map(line -> line.substring(LINKED.length())).toList();
        assertTrue(linked.size() > 10, "of " + linked + " the linker knows");
        assertEquals(List.of(), linked.stream()
                .filter(call -> !file.contains(call) && !OF_NETTY.contains(call)).toList());
    }

    @Test
    void onlyDowncallsUsesTheLinker() {
        assertEquals(Set.of(Downcalls.class.getName() + ".make"), callers(Linker.class.getName(),
                Set.of("downcallHandle", "upcallStub")));
    }

    /**
     * Each of these lookups has an entry, or the image builder finds it: services, and class literals. Only the
     * agent, which a native image does not contain, calls {@code newCompanion}.
     */
    @Test
    void lookupsByNameAreKnown() {
        assertEquals(Set.of("io.rdmaraw.channel.settings.NettyVersion.unavailabilityCause",
                "io.rdmaraw.udp.DatagramSegments.isClassThere", "io.rdmaraw.kernel.UnixOptions.isClassThere",
                "io.rdmaraw.channel.RdmaRawEventLoopGroup.newCompanion"),
                callers(Class.class.getName(), Set.of("forName",
                "getMethod", "getMethods", "getDeclaredMethod", "getDeclaredMethods", "getField", "getDeclaredField",
                "getConstructor", "getDeclaredConstructor", "getDeclaredFields", "newInstance")));
        assertEquals(Set.of("io.rdmaraw.ffi.NativeCall.addressFirst"), callers("java.lang.invoke.MethodHandles$Lookup",
                Set.of("findStatic", "findVirtual", "findConstructor", "findSpecial", "findGetter", "findSetter",
                        "findStaticVarHandle", "findClass", "unreflect")));
        // These classes look up fields of other classes.
        assertEquals(Set.of("io.rdmaraw.channel.ChildGroups.read",
                "io.rdmaraw.tcp.stack.send.FileRegionAccess.<clinit>"), callers("java.lang.invoke.MethodHandles",
                Set.of("privateLookupIn")));
        assertEquals(Set.of("io.rdmaraw.ffi.TransportVersion.get"), callers(Class.class.getName(), Set.of("getResource",
                "getResourceAsStream")));
        assertEquals(Set.of("io.rdmaraw.ffi.TransportVersion.locations"), callers(ClassLoader.class.getName(),
                Set.of("getResource", "getResources", "getResourceAsStream", "resources", "loadClass")));
        assertEquals(Set.of("io.rdmaraw.verbs.objects.QueuePairAttributes.libraryOf",
                "io.rdmaraw.queue.DirectRingDrivers.<clinit>"), callers(ServiceLoader.class.getName(),
                Set.of("load", "loadInstalled")));
    }

    private static Set<String> callers(String owner, Set<String> methods) {
        JavaClasses classes = NativeImageMetadata.ownClasses();
        return classes.stream().flatMap(each -> each.getMethodCallsFromSelf().stream())
                .filter(call -> call.getTarget().getOwner().getName().equals(owner)
                        && methods.contains(call.getTarget().getName()))
                .map(call -> call.getOriginOwner().getName() + "." + call.getOrigin().getName())
                .collect(Collectors.toCollection(TreeSet::new));
    }
}
