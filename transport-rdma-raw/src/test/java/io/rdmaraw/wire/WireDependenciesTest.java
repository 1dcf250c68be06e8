package io.rdmaraw.wire;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The wire formats are the lowest layer. They do not depend on channels, verbs or protocols. */
class WireDependenciesTest {
    @Test
    void wireDoesNotDependOnHigherLayers() {
        noClasses().that().resideInAPackage("io.rdmaraw.wire..").should().dependOnClassesThat().resideInAnyPackage(
                "io.netty.channel..", "io.rdmaraw.verbs..", "io.rdmaraw.queue..", "io.rdmaraw.memory..",
                "io.rdmaraw.tcp..", "io.rdmaraw.route..", "io.rdmaraw.channel..")
                .check(new ClassFileImporter().withImportOption(new ImportOption.DoNotIncludeTests())
                        .importPackages("io.rdmaraw.wire"));
    }
}
