/**
 * Everything that a decision needs of one pull request, in one read. Lists that may be longer than
 * a page carry their own length, so that a part is never taken for the whole.
 */
export const PULL_REQUEST_QUERY = /* GraphQL */ `
  query PullRequest(
    $owner: String!
    $repo: String!
    $number: Int!
    $writersOnly: Boolean!
    $contextsAfter: String
    $threadsAfter: String
  ) {
    repository(owner: $owner, name: $repo) {
      databaseId
      nameWithOwner
      mergeCommitAllowed
      squashMergeAllowed
      rebaseMergeAllowed
      pullRequest(number: $number) {
        id
        number
        url
        state
        title
        body
        author {
          login
        }
        isDraft
        headRefOid
        headRefName
        headRepository {
          nameWithOwner
        }
        isCrossRepository
        maintainerCanModify
        baseRefName
        isMergeQueueEnabled
        labels(first: 100) {
          totalCount
          nodes {
            name
          }
        }
        mergeable
        mergeStateStatus
        autoMergeRequest {
          enabledBy {
            login
          }
        }
        mergedAt
        mergedBy {
          login
        }
        mergeCommit {
          oid
        }
        reviewDecision
        reviewRequests(first: 100) {
          totalCount
          nodes {
            asCodeOwner
            requestedReviewer {
              __typename
              ... on User {
                login
              }
              ... on Team {
                slug
              }
            }
          }
        }
        latestOpinionatedReviews(first: 100, writersOnly: $writersOnly) {
          totalCount
          nodes {
            author {
              login
            }
            state
            commit {
              oid
            }
          }
        }
        reviewThreads(first: 100, after: $threadsAfter) {
          totalCount
          pageInfo {
            hasNextPage
            endCursor
          }
          nodes {
            isResolved
          }
        }
        commits(last: 1) {
          nodes {
            commit {
              oid
              statusCheckRollup {
                contexts(first: 100, after: $contextsAfter) {
                  totalCount
                  pageInfo {
                    hasNextPage
                    endCursor
                  }
                  nodes {
                    __typename
                    ... on CheckRun {
                      databaseId
                      name
                      status
                      conclusion
                      isRequired(pullRequestNumber: $number)
                      checkSuite {
                        app {
                          databaseId
                        }
                      }
                    }
                    ... on StatusContext {
                      context
                      state
                      isRequired(pullRequestNumber: $number)
                    }
                  }
                }
              }
            }
          }
        }
      }
    }
  }
`;

/** REST can merge the base into a head, and not rebase the head. */
export const UPDATE_BRANCH_MUTATION = /* GraphQL */ `
  mutation UpdateBranch($pull: ID!, $expectedHeadOid: GitObjectID!) {
    updatePullRequestBranch(
      input: { pullRequestId: $pull, expectedHeadOid: $expectedHeadOid, updateMethod: REBASE }
    ) {
      pullRequest {
        headRefOid
      }
    }
  }
`;
