#ifndef CORE_COMM_MPI_SINGLE_COPY_H_
#define CORE_COMM_MPI_SINGLE_COPY_H_

namespace reprise {

// Returns whether this process may read the memory of its child (process_vm_readv), which is taken to hold for the
// other ranks too. Containers and sandboxes often refuse it.
bool CanReadOtherProcesses();

// Open MPI copies long messages between the ranks of a machine by that call, and where it is refused prints a line for
// each of them before it copies in another way. Where the call is refused, this sets Open MPI's parameter so that it
// copies through shared memory from the beginning; a parameter that the environment has stays. Call it before MPI is
// initialised.
void ChooseHowRanksCopy();

}  // namespace reprise

#endif  // CORE_COMM_MPI_SINGLE_COPY_H_
