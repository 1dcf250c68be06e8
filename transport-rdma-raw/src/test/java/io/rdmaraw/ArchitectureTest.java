package io.rdmaraw;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;

/** Holds docs/architecture.md against the code: each layer knows only those below it. */
@AnalyzeClasses(packages = "io.rdmaraw", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    @ArchTest
    static final ArchRule DEPENDENCIES_POINT_DOWNWARDS = layeredArchitecture().consideringOnlyDependenciesInLayers()
            .layer("channel").definedBy("io.rdmaraw.channel")
            .layer("host").definedBy("io.rdmaraw.host")
            .layer("loop").definedBy("io.rdmaraw.loop")
            .layer("tcp").definedBy("io.rdmaraw.tcp..")
            .layer("route").definedBy("io.rdmaraw.route..")
            .layer("wire").definedBy("io.rdmaraw.wire..")
            .layer("queue").definedBy("io.rdmaraw.queue")
            .layer("memory").definedBy("io.rdmaraw.memory")
            .layer("verbs").definedBy("io.rdmaraw.verbs..")
            .layer("ffi").definedBy("io.rdmaraw.ffi")
            .whereLayer("channel").mayNotBeAccessedByAnyLayer()
            .whereLayer("host").mayOnlyBeAccessedByLayers("channel")
            .whereLayer("loop").mayOnlyBeAccessedByLayers("channel", "host")
            .whereLayer("tcp").mayOnlyBeAccessedByLayers("channel")
            .whereLayer("route").mayOnlyBeAccessedByLayers("channel", "host", "tcp")
            .whereLayer("wire").mayOnlyBeAccessedByLayers("channel", "host", "tcp", "route")
            .whereLayer("queue").mayOnlyBeAccessedByLayers("channel")
            .whereLayer("memory").mayOnlyBeAccessedByLayers("channel", "queue")
            .whereLayer("verbs").mayOnlyBeAccessedByLayers("channel", "host", "queue", "memory");

    @ArchTest
    static final ArchRule NOTHING_BELOW_THE_CHANNELS_KNOWS_NETTYS = noClasses()
            .that().resideOutsideOfPackages("io.rdmaraw.channel", "io.rdmaraw.loop")
            .should().dependOnClassesThat().resideInAPackage("io.netty.channel..");

    @ArchTest
    static final ArchRule VERBS_AND_FFI_KNOW_NO_NETTY = noClasses()
            .that().resideInAnyPackage("io.rdmaraw.verbs..", "io.rdmaraw.ffi")
            .should().dependOnClassesThat().resideInAPackage("io.netty..");
}
