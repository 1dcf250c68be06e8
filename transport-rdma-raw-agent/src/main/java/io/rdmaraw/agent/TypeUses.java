package io.rdmaraw.agent;

import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeElement;
import java.lang.classfile.MethodModel;
import java.lang.classfile.Opcode;
import java.lang.classfile.constantpool.MemberRefEntry;
import java.lang.classfile.constantpool.NameAndTypeEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.TypeCheckInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.HashSet;
import java.util.Set;

/** Analyses how a class uses the types of Netty's channels and loops. */
final class TypeUses {
    private final NettyNames names;
    private final ClassModel model;
    private boolean usesChannelTypes;
    private boolean needsNettyTypes;
    private boolean castsToLoop;

    TypeUses(NettyNames names, ClassModel model) {
        this.names = names;
        this.model = model;
        usesChannelTypes = model.superclass().map(type -> names.kind(type.asSymbol()) != null).orElse(false)
                || !references().isEmpty() || declares();
        model.methods().forEach(this::analyze);
    }

    /** Returns whether the class uses the type of a channel other than in a class constant. */
    boolean usesChannelTypes() {
        return usesChannelTypes;
    }

    /**
     * Returns whether the class works only with channels of Netty's own classes. This is not the case for a class that
     * checks the type of a channel before it casts, or that only creates channels.
     */
    boolean needsNettyTypes() {
        return needsNettyTypes;
    }

    /** Returns whether the class casts to the type of a loop without a check. */
    boolean castsToLoop() {
        return castsToLoop;
    }

    /** Returns the owners of the members that the class refers to with a channel type in the descriptor. */
    Set<String> references() {
        Set<String> owners = new HashSet<>();
        for (PoolEntry entry : model.constantPool()) {
            if (entry instanceof MemberRefEntry member && (names.kind(member.owner().asSymbol()) != null
                    || mentions(member.type().stringValue()))) {
                owners.add(member.owner().asInternalName());
            } else if (entry instanceof NameAndTypeEntry dynamic && mentions(dynamic.type().stringValue())) {
                owners.add(model.thisClass().asInternalName());
            }
        }
        return owners;
    }

    private boolean declares() {
        return model.methods().stream().anyMatch(method -> mentions(method.methodType().stringValue()))
                || model.fields().stream().anyMatch(field -> mentions(field.fieldType().stringValue()));
    }

    /** Returns the names and descriptors of overridable methods with a channel type in the descriptor. */
    Set<String> overridable() {
        Set<String> methods = new HashSet<>();
        for (MethodModel method : model.methods()) {
            if (!method.flags().has(AccessFlag.PRIVATE) && !method.flags().has(AccessFlag.STATIC)
                    && mentions(method.methodType().stringValue())) {
                methods.add(method.methodName().stringValue() + method.methodType().stringValue());
            }
        }
        return methods;
    }

    private void analyze(MethodModel method) {
        if (method.code().isEmpty()) {
            return;
        }
        Set<ClassDesc> checkedTypes = new HashSet<>();
        for (CodeElement element : method.code().get()) {
            switch (element) {
                case TypeCheckInstruction check -> analyze(check, checkedTypes);
                case InvokeDynamicInstruction call -> analyze(call);
                default -> { }
            }
        }
    }

    private void analyze(TypeCheckInstruction check, Set<ClassDesc> checkedTypes) {
        ClassDesc type = elementOf(check.type().asSymbol());
        usesChannelTypes |= isChannel(type);
        if (check.opcode() == Opcode.INSTANCEOF) {
            checkedTypes.add(type);
        } else if (!checkedTypes.contains(type)) {
            needsNettyTypes |= isChannel(type);
            castsToLoop |= names.isLoop(type);
        }
    }

    /**
     * Checks the arguments of a dynamic call: a lambda expression casts its parameters to the types of its method type.
     */
    private void analyze(InvokeDynamicInstruction call) {
        boolean mentions = call.bootstrapArgs().stream()
                .anyMatch(argument -> argument instanceof MethodTypeDesc type && mentions(type.descriptorString()));
        usesChannelTypes |= mentions;
        needsNettyTypes |= mentions;
    }

    private boolean isChannel(ClassDesc type) {
        return names.kind(type) != null;
    }

    private static ClassDesc elementOf(ClassDesc type) {
        ClassDesc element = type;
        while (element.isArray()) {
            element = element.componentType();
        }
        return element;
    }

    private boolean mentions(String descriptor) {
        if (!descriptor.contains(names.internalPrefix())) {
            return false;
        }
        if (!descriptor.startsWith("(")) {
            return isChannel(elementOf(ClassDesc.ofDescriptor(descriptor)));
        }
        MethodTypeDesc type = MethodTypeDesc.ofDescriptor(descriptor);
        return isChannel(elementOf(type.returnType()))
                || type.parameterList().stream().anyMatch(parameter -> isChannel(elementOf(parameter)));
    }
}
