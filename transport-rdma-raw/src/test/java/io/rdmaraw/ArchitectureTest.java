package io.rdmaraw;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

/** Checks the code against docs/design/architecture.md: a layer depends only on the layers below it. */
@AnalyzeClasses(packages = "io.rdmaraw", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    @ArchTest
    static final ArchRule DEPENDENCIES_POINT_DOWNWARDS = layeredArchitecture().consideringOnlyDependenciesInLayers()
            .ensureAllClassesAreContainedInArchitecture()
            .layer("channel").definedBy("io.rdmaraw.channel..")
            .layer("udp").definedBy("io.rdmaraw.udp")
            .layer("takeover").definedBy("io.rdmaraw.takeover")
            .layer("kernel").definedBy("io.rdmaraw.kernel")
            .layer("tcp.stack").definedBy("io.rdmaraw.tcp.stack")
            .layer("tcp.stack.port").definedBy("io.rdmaraw.tcp.stack.port")
            .layer("tcp.stack.send").definedBy("io.rdmaraw.tcp.stack.send")
            .layer("tcp.stack.receive").definedBy("io.rdmaraw.tcp.stack.receive")
            .layer("host.userspace").definedBy("io.rdmaraw.host.userspace")
            .layer("host.loopback").definedBy("io.rdmaraw.host.loopback")
            .layer("host.kernel").definedBy("io.rdmaraw.host.kernel")
            .layer("host").definedBy("io.rdmaraw.host")
            .layer("device").definedBy("io.rdmaraw.device")
            .layer("loop").definedBy("io.rdmaraw.loop")
            .layer("tcp").definedBy("io.rdmaraw.tcp", "io.rdmaraw.tcp.segment", "io.rdmaraw.tcp.send",
                    "io.rdmaraw.tcp.congestion")
            .layer("net").definedBy("io.rdmaraw.net..")
            .layer("netlink").definedBy("io.rdmaraw.netlink")
            .layer("wire").definedBy("io.rdmaraw.wire")
            .layer("queue").definedBy("io.rdmaraw.queue..")
            .layer("memory").definedBy("io.rdmaraw.memory")
            .layer("verbs").definedBy("io.rdmaraw.verbs..")
            .layer("pcap").definedBy("io.rdmaraw.pcap")
            .layer("capture").definedBy("io.rdmaraw.capture")
            .layer("metrics").definedBy("io.rdmaraw.metrics..")
            .layer("ffi").definedBy("io.rdmaraw.ffi")
            .whereLayer("channel").mayNotBeAccessedByAnyLayer()
            .whereLayer("udp").mayOnlyBeAccessedByLayers("channel")
            .whereLayer("takeover").mayOnlyBeAccessedByLayers("channel")
            .whereLayer("kernel").mayOnlyBeAccessedByLayers("channel", "takeover")
            .whereLayer("tcp.stack").mayOnlyBeAccessedByLayers("channel", "takeover", "kernel")
            .whereLayer("tcp.stack.port").mayOnlyBeAccessedByLayers("tcp.stack")
            .whereLayer("tcp.stack.send").mayOnlyBeAccessedByLayers("tcp.stack")
            .whereLayer("tcp.stack.receive").mayOnlyBeAccessedByLayers("channel", "kernel", "tcp.stack")
            .whereLayer("host.userspace").mayOnlyBeAccessedByLayers("channel")
            .whereLayer("host.loopback").mayOnlyBeAccessedByLayers("channel")
            .whereLayer("host.kernel").mayOnlyBeAccessedByLayers("channel")
            .whereLayer("host").mayOnlyBeAccessedByLayers("channel", "udp", "takeover", "kernel", "tcp.stack",
                    "tcp.stack.port", "host.userspace", "host.loopback", "host.kernel")
            .whereLayer("device").mayOnlyBeAccessedByLayers("channel", "udp", "tcp.stack", "host.userspace")
            .whereLayer("loop").mayOnlyBeAccessedByLayers("channel", "udp", "kernel", "tcp.stack", "tcp.stack.receive",
                    "host.userspace", "host", "device", "capture")
            .whereLayer("tcp").mayOnlyBeAccessedByLayers("channel", "takeover", "kernel", "tcp.stack",
                    "tcp.stack.receive", "tcp.stack.send")
            .whereLayer("net").mayOnlyBeAccessedByLayers("channel", "udp", "takeover", "kernel", "tcp.stack",
                    "tcp.stack.port", "host.userspace", "host.loopback", "host", "host.kernel")
            .whereLayer("netlink").mayOnlyBeAccessedByLayers("net", "verbs")
            .whereLayer("queue").mayOnlyBeAccessedByLayers("channel", "udp", "tcp.stack", "tcp.stack.send",
                    "host.userspace", "device")
            .whereLayer("memory").mayOnlyBeAccessedByLayers("channel", "udp", "tcp.stack", "tcp.stack.receive",
                    "tcp.stack.send", "host.userspace", "device", "queue")
            .whereLayer("verbs").mayOnlyBeAccessedByLayers("channel", "udp", "tcp.stack", "host.userspace",
                    "host.loopback", "host", "host.kernel", "device", "queue", "memory")
            .whereLayer("wire").mayOnlyBeAccessedByLayers("channel", "udp", "tcp.stack", "tcp.stack.send",
                    "host.userspace", "host.loopback", "host", "host.kernel", "device", "queue", "tcp", "net", "verbs")
            .whereLayer("metrics").mayOnlyBeAccessedByLayers("channel", "udp", "kernel", "tcp.stack", "host.userspace",
                    "device")
            .whereLayer("capture").mayOnlyBeAccessedByLayers("device", "queue", "metrics")
            .whereLayer("pcap").mayOnlyBeAccessedByLayers("channel");

    @ArchTest
    static final ArchRule NO_CYCLES_BETWEEN_PACKAGES = slices().matching("io.rdmaraw.(**)").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule VENDORS_HAVE_PACKAGES_OF_THEIR_OWN = noClasses()
            .that().resideOutsideOfPackages("..mlx5")
            .should().dependOnClassesThat().resideInAPackage("..mlx5");

    @ArchTest
    static final ArchRule NOTHING_BELOW_THE_CHANNELS_KNOWS_NETTYS = noClasses()
            .that().resideOutsideOfPackages("io.rdmaraw.channel..", "io.rdmaraw.udp", "io.rdmaraw.kernel",
                    "io.rdmaraw.loop", "io.rdmaraw.tcp.stack..", "io.rdmaraw.host.userspace")
            .should().dependOnClassesThat().resideInAPackage("io.netty.channel..");

    @ArchTest
    static final ArchRule VERBS_AND_FFI_KNOW_NO_NETTY = noClasses()
            .that().resideInAnyPackage("io.rdmaraw.verbs..", "io.rdmaraw.ffi")
            .should().dependOnClassesThat().resideInAPackage("io.netty..");
}
