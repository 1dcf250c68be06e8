package io.rdmaraw.microbench.result;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.testsuite.net.Offloads;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class OffloadsOptionTest {
    private static Offloads parsed(String... arguments) {
        OffloadsOption option = new OffloadsOption();
        new CommandLine(CommandLine.Model.CommandSpec.wrapWithoutInspection(option).addMixin("veth",
                CommandLine.Model.CommandSpec.forAnnotatedObject(option))).parseArgs(arguments);
        return option.offloads();
    }

    @Test
    void defaultOffloadsAreThoseOfContainers() {
        assertEquals(Offloads.AS_MADE, parsed());
        assertEquals(Offloads.AS_MADE, parsed("--offloads", "on"));
        assertEquals(Offloads.OFF, parsed("--offloads=off"));
    }

    @Test
    void anotherWordIsRefusedWithTheTwoThatThereAre() {
        CommandLine.ParameterException refused = assertThrows(CommandLine.ParameterException.class,
                () -> parsed("--offloads=maybe"));
        assertTrue(refused.getMessage().contains("'maybe' is neither on nor off"), refused::getMessage);
    }
}
