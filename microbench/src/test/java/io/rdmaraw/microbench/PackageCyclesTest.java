package io.rdmaraw.microbench;

import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The packages of this module have no cyclic dependencies. */
@AnalyzeClasses(packages = "io.rdmaraw.microbench",
        importOptions = ImportOption.DoNotIncludeTests.class)
class PackageCyclesTest {
    @ArchTest
    static final ArchRule PACKAGES_FORM_NO_CYCLES = slices().matching("io.rdmaraw.(**)").should().beFreeOfCycles();
}
